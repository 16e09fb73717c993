internal import ArgumentParser
internal import Coffer
internal import CofferFormats
internal import CofferLogin
internal import CofferPlatform
internal import CofferStorage
internal import CofferTerminal
internal import CofferVault
internal import FoundationEssentials

struct ServerOptions: ParsableArguments {
  @Option(help: ArgumentHelp("The issuer, an address of https, which says where everything of the server is.", valueName: "url"))
  var issuer: String?
  @Option(help: ArgumentHelp("The client id that the server gave you.", valueName: "id")) var clientID: String?
  @Option(help: ArgumentHelp("A file with the client's secret, where it has one.", valueName: "path"), completion: .file())
  var clientSecretFile: String?
  @Option(help: ArgumentHelp("What to ask for; may be given several times.", valueName: "scope")) var scope: [String] = []
  @Option(
    help: ArgumentHelp("Certificates by which alone the issuer is believed, in a file of PEM.", valueName: "path"),
    completion: .file())
  var ca: String?

  func validate() throws {
    guard ca == nil || issuer != nil else { throw ValidationError("--ca is about the server of --issuer") }
  }

  /// An absolute path: a login is renewed from any folder.
  func authority() throws(StoreError) -> String? {
    try ca.map { (path) throws(StoreError) in try TrustedPath.absolute(FilePath(path)).string }
  }

  func secret() throws -> SecretForm? {
    guard let path = clientSecretFile else { return nil }
    let read = try SecretReader.file(path, limit: 4096, what: "the client's secret")
    let secret = try read.withoutTrailingNewline(.lineFeedOrCRLF)
    guard secret.count > 0 else {
      throw Failure.usage("the file of the client's secret is empty", try: "the secret, and nothing else")
    }
    return SecretForm(secret)
  }
}

struct LoginCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "login", abstract: "Log in to a host, or store a token for it.",
    discussion: """
      With --provider, --issuer, --device or --web the host's server is asked: it shows a code to enter on any device, or its \
      page opens in this machine's browser. Its token is then renewed as needed. Otherwise the token comes from the hidden \
      prompt, or from standard input with --with-token. It replaces that account's token, and the account becomes the active \
      one of its host. An account that is logged in already, and not the active one, becomes active without a question. If the \
      vault has an item of the host and the account, its value can be the token: a terminal is asked, and --yes agrees.
      """)

  @Argument(help: "The host, for example github.com.") var host: String
  // Here only so that a misplaced token is refused with its reason, and not quoted by the parser.
  @Argument(help: .hidden) var surplus: [String] = []
  @Option(help: ArgumentHelp("Whose token it is, where a host knows several.", valueName: "name")) var account: String?
  @Flag(help: "Take the token from standard input.") var withToken = false
  @Option(help: ArgumentHelp("When the token stops being handed out: 30d, 12h, 2026-12-31.", valueName: "when"))
  var expires: String?
  @Flag(help: "Log in by a code, which is entered on any device.") var device = false
  @Flag(help: "Log in with the browser of this machine.") var web = false
  @Flag(help: "Open no browser.") var noBrowser = false
  @Option(
    help: ArgumentHelp("A server of 'coffer provider', or github, gitlab, google, microsoft.", valueName: "name"))
  var provider: String?
  @OptionGroup var server: ServerOptions
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func validate() throws {
    guard !(device && web) else { throw ValidationError("--device and --web exclude each other") }
    guard provider == nil || server.issuer == nil else { throw ValidationError("--provider and --issuer exclude each other") }
    guard !asksServer || (!withToken && expires == nil) else {
      throw ValidationError("--with-token and --expires are for a token that is there already; a server tells when its own ends")
    }
  }

  private var asksServer: Bool { device || web || provider != nil || server.issuer != nil }

  func perform(_ context: Context) throws {
    guard surplus.isEmpty else { throw SecretArguments.refusal("a token") }
    let host = try AuthHost.check(host)
    let account = try StoredName.check(account ?? AuthAccounts.unnamed, as: "account")
    let expires = try expires.map { try Expiry.parse($0) }
    if !withToken, !asksServer, server.clientID == nil {
      let accounts = AuthAccounts(items: try context.items())
      // Without a terminal a switch can be repeated.
      let hasTerminal = Terminal() != nil
      if self.account != nil,
        let other = try accounts.logins(of: host).first(where: {
          $0.account.hasSameBytes(as: account) && (!$0.isActive || !hasTerminal)
        })
      {
        try accounts.activate(other)
        return context.done(
          "\(account) is the active account of \(host) now", elsewhere: "\(account) is the active account of \(host) now")
      }
      if let item = try accounts.item(host, account) { return try adopt(item, expires, accounts, context) }
    }
    guard let asked = try askedServer(host, context) else { return try storeToken(host, account, expires, context) }
    let secret = try server.secret()
    let accounts = AuthAccounts(items: try context.items())
    let clientSecret = try secret ?? asked.name.flatMap { try LoginServers.secret($0, of: asked.server, in: accounts.items) }
    try accounts.reserve(host, account)
    let client = OAuthClient(
      id: asked.server.client, secret: clientSecret, at: try asked.server.server(), scopes: asked.server.scopes)
    let tokens = try LoginFlow(context: context, opensBrowser: !noBrowser).tokens(client, device ? .device : web ? .web : nil)
    do { try accounts.store(tokens, from: client, clientSecret: clientSecret, host, account) } catch let error as StoreError
      where error.kind == .outcomeUnknown
    {
      guard try isStored(tokens, accounts, host, account, context, else: error) else {
        takeBack(tokens, client, context)
        throw error
      }
    } catch {
      takeBack(tokens, client, context)
      throw error
    }
    if tokens.refresh == nil, tokens.expires != nil {
      context.note("the server gave nothing that renews the token: log in again when it ends")
    }
    done(host, account, context)
  }

  /// Whether the vault has the tokens, after a store with an unknown outcome: stored ones are not revoked.
  ///
  /// - Throws: `unknown` if that cannot be told.
  private func isStored(
    _ tokens: OAuthTokens, _ accounts: AuthAccounts, _ host: String, _ account: String, _ context: Context,
    else unknown: StoreError
  ) throws -> Bool {
    do { return try accounts.holds(tokens, host, account) } catch {
      context.note(
        "the server still takes the new tokens, and whether the vault has them could not be read: coffer status --logins tells")
      throw unknown
    }
  }

  private func takeBack(_ tokens: OAuthTokens, _ client: OAuthClient, _ context: Context) {
    let isTakenBack: Bool
    // A failure must not hide the current error.
    do { isTakenBack = try client.revoke(tokens.refresh ?? tokens.access, nil) } catch { isTakenBack = false }
    context.note(
      isTakenBack
        ? "the tokens could not be stored, and the server has taken them back"
        : "the tokens could not be stored; the server still takes them, and nobody has them")
  }

  private func done(_ host: String, _ account: String, _ context: Context) {
    let done = "logged in to \(Printable.line(host)) as \(Printable.line(account))"
    context.done(done, elsewhere: done)
  }

  // MARK: A server

  /// The server to ask, and the name whose client's secret goes to it; nil if the token is given.
  private func askedServer(_ host: String, _ context: Context) throws -> (server: LoginServer, name: String?)? {
    if let issuer = server.issuer {
      return (
        LoginServer(place: .issuer(issuer), client: try clientID(nil), scopes: server.scope, authority: try server.authority()),
        nil
      )
    }
    let names = provider.map { [$0] } ?? (withToken ? [] : [host])
    for name in names {
      if var saved = try LoginServers(context: context).server(name) {
        if !server.scope.isEmpty { saved.scopes = server.scope }
        // Another client has another secret, or none.
        if let client = server.clientID, client != saved.client {
          saved.client = client
          return (saved, nil)
        }
        return (saved, name)
      }
      guard provider != nil || device || web || server.clientID != nil, let known = LoginServer.known(name) else { continue }
      return (LoginServer(place: .known(known), client: try clientID(name), scopes: server.scope), nil)
    }
    if let provider {
      throw Failure.usage(
        "no server has the name '\(Printable.line(provider))'",
        try:
          "coffer provider add \(Printable.line(provider)) --issuer URL --client-id ID, or github, gitlab, google, microsoft"
      )
    }
    guard !device, !web, server.clientID == nil else {
      throw Failure.usage(
        "how \(Printable.line(host)) logs in is not known",
        try: "--issuer URL, or --provider NAME; coffer provider list shows names")
    }
    return nil
  }

  private func clientID(_ name: String?) throws(Failure) -> String {
    if let id = server.clientID { return id }
    throw .usage(
      "the server asks which program logs in, and no client id is given",
      try: "--client-id ID, with the id of a program that you registered at \(name.map(Printable.line) ?? "the server")")
  }

  // MARK: A token that is there

  private func adopt(_ item: VaultItem, _ expires: Date?, _ accounts: AuthAccounts, _ context: Context) throws {
    if !context.yes {
      guard let terminal = Terminal() else { throw AuthAccounts.isNoLogin(item) }
      guard try terminal.confirm("The vault has an item \(item.name). Use its value as the token of this login?") else {
        throw Failure.usage("nothing was changed", try: "--with-token, and another --account")
      }
    }
    try accounts.adopt(item, expires: expires)
    done(item.name.service, item.name.account, context)
  }

  private func storeToken(_ host: String, _ account: String, _ expires: Date?, _ context: Context) throws {
    if withToken { try context.input.claim(for: "the token") }
    let accounts = AuthAccounts(items: try context.items())
    let token = try token(for: host)
    try accounts.store(token, host, account, expires: expires)
    done(host, account, context)
  }

  private func token(for host: String) throws -> SecretBytes {
    guard withToken else {
      guard let terminal = Terminal() else {
        throw Failure.usage("there is no token, and no terminal to ask at", try: "--with-token, and the token on standard input")
      }
      return try terminal.secret(Question("Token for \(host)"))
    }
    let read = try SecretReader.read(
      STDIN_FILENO, limit: SecretReader.largestValue, what: "the token", place: "standard input")
    let token = try read.withoutTrailingNewline(.lineFeedOrCRLF)
    guard token.count > 0 else {
      throw Failure.usage("the token is empty", try: "the token on standard input; nothing was stored")
    }
    return token
  }
}
