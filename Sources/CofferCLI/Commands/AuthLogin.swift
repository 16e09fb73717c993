internal import ArgumentParser
internal import CofferFormats
internal import CofferLogin
internal import CofferPlatform
internal import CofferStorage
internal import CofferTerminal
internal import CofferVault
internal import FoundationEssentials

struct ServerOptions: ParsableArguments {
  @Option(help: ArgumentHelp("The issuer's https URL, which lists the server's endpoints.", valueName: "url")) var issuer: String?
  @Option(help: ArgumentHelp("Your client id at the server.", valueName: "id")) var clientID: String?
  @Option(help: ArgumentHelp("A file with the client's secret, if it has one.", valueName: "path")) var clientSecretFile: String?
  @Option(help: ArgumentHelp("A scope to ask for; may be repeated.", valueName: "scope")) var scope: [String] = []
  @Option(help: ArgumentHelp("Trust only the certificates in this PEM file for the issuer.", valueName: "path")) var ca: String?

  func validate() throws {
    guard ca == nil || issuer != nil else { throw ValidationError("--ca needs --issuer") }
  }

  /// An absolute path: a login is renewed from any folder.
  func authority() throws(StoreError) -> String? {
    try ca.map { (path) throws(StoreError) in try TrustedPath.absolute(FilePath(path)).string }
  }

  func secret() throws -> SecretForm? {
    guard let path = clientSecretFile else { return nil }
    let read = try SecretReader.file(path, limit: 4096, what: "the client's secret")
    let secret = try read.withoutTrailingNewline(.lineFeedOrCRLF)
    guard secret.count > 0 else { throw Failure.usage("the client secret's file is empty", try: "the secret, and nothing else") }
    return SecretForm(secret)
  }
}

struct LoginCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "login", abstract: "Log in to a host, or store a token for it.",
    discussion: """
      With --provider, --issuer, --device or --web the host's server shows a code to enter on any device, or its page opens in \
      this machine's browser. Its token is then renewed as needed. Otherwise the token comes from a hidden prompt, or from \
      standard input with --with-token. It replaces the account's token, and the account becomes the host's active one. An \
      account that is logged in but not active becomes active without a question. If the vault has an item of the host and \
      account, its value can be the token: a terminal asks, and --yes agrees.
      """)

  @Argument(help: "The host, for example github.com.") var host: String
  // A misplaced token is refused with its reason, and not quoted by the parser.
  @Argument(help: .hidden) var surplus: [String] = []
  @Option(help: ArgumentHelp("The account of the token, if the host has several.", valueName: "name")) var account: String?
  @Flag(help: "Take the token from standard input.") var withToken = false
  @Option(help: ArgumentHelp("When the token expires: 30d, 12h, 2026-12-31.", valueName: "when")) var expires: String?
  @Flag(help: "Log in with a code entered on any device.") var device = false
  @Flag(help: "Log in with this machine's browser.") var web = false
  @Flag(help: "Open no browser.") var noBrowser = false
  @Option(help: ArgumentHelp("A name from 'coffer provider', or github, gitlab, google, microsoft.", valueName: "name"))
  var provider: String?
  @OptionGroup var server: ServerOptions
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func validate() throws {
    guard !(device && web) else { throw ValidationError("give --device or --web, not both") }
    guard provider == nil || server.issuer == nil else { throw ValidationError("give --provider or --issuer, not both") }
    guard !asksServer || (!withToken && expires == nil) else {
      throw ValidationError("--with-token and --expires need a token that you already have; a server sets the expiry of its own")
    }
  }

  private var asksServer: Bool { device || web || provider != nil || server.issuer != nil }

  func perform(_ context: Context) throws {
    guard surplus.isEmpty else { throw SecretArguments.refusal("a token") }
    let host = try AuthHost.check(host, for: "coffer login ")
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
        return context.told("\(account) is the active account of \(host) now")
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
      context.note("the server gave no refresh token: log in again when the token expires")
    }
    done(host, account, context)
  }

  /// Whether the vault has the tokens after an unknown outcome: stored ones are not revoked. Throws `unknown` if it cannot tell.
  private func isStored(
    _ tokens: OAuthTokens, _ accounts: AuthAccounts, _ host: String, _ account: String, _ context: Context,
    else unknown: StoreError
  ) throws -> Bool {
    do { return try accounts.holds(tokens, host, account) } catch {
      context.note("the server still accepts the new tokens, but the vault could not be read: check with coffer status --logins")
      throw unknown
    }
  }

  private func takeBack(_ tokens: OAuthTokens, _ client: OAuthClient, _ context: Context) {
    let isTakenBack: Bool
    // A failure must not hide the current error.
    do { isTakenBack = try client.revoke(tokens.refresh ?? tokens.access, nil) } catch { isTakenBack = false }
    context.note(
      isTakenBack
        ? "the tokens could not be stored; the server has revoked them"
        : "the tokens could not be stored; the server still accepts them, but nobody has them")
  }

  private func done(_ host: String, _ account: String, _ context: Context) {
    context.told("logged in to \(Printable.line(host)) as \(Printable.line(account))")
  }

  // MARK: A server

  /// The server to ask, and the name whose client's secret it gets; nil if the token is given.
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
        "there is no login server '\(Printable.line(provider))'",
        try:
          "coffer provider add \(CommandText.quoted(provider)) --issuer URL --client-id ID, or github, gitlab, google, microsoft"
      )
    }
    guard !device, !web, server.clientID == nil else {
      throw Failure.usage(
        "the login server of \(Printable.line(host)) is not known",
        try: "--issuer URL, or --provider NAME; coffer provider list shows the names")
    }
    return nil
  }

  private func clientID(_ name: String?) throws(Failure) -> String {
    if let id = server.clientID { return id }
    throw .usage(
      "the server needs a client id",
      try: "--client-id ID, the id of a program registered at \(name.map(Printable.line) ?? "the server")")
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
    let read = try SecretReader.read(STDIN_FILENO, limit: SecretReader.largestValue, what: "the token", place: "standard input")
    let token = try read.withoutTrailingNewline(.lineFeedOrCRLF)
    guard token.count > 0 else {
      throw Failure.usage("the token is empty", try: "the token on standard input; nothing was stored")
    }
    return token
  }
}
