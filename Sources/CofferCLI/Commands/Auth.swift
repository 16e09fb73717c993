internal import ArgumentParser
internal import Coffer
internal import CofferStorage
internal import CofferPlatform
internal import FoundationEssentials

struct AuthCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "auth", abstract: "Log in to hosts: a token for each host and account, one of them the active one.",
    discussion: """
      A token comes from standard input (--with-token) or from the hidden prompt, never from an argument. It is an item of the vault, \
      'coffer vault get HOST ACCOUNT' finds it, and so is which account is active: nothing about it is readable outside.
      """,
    subcommands: [
      AuthLoginCommand.self, AuthLogoutCommand.self, AuthStatusCommand.self, AuthTokenCommand.self, AuthSwitchCommand.self,
    ])
}

typealias LoginCommand = LoginCommandAt<RootPlace>
typealias AuthLoginCommand = LoginCommandAt<FamilyPlace>

/// `coffer login` and `coffer auth login`.
struct LoginCommandAt<Place>: OpeningCommand {
  static var configuration: CommandConfiguration {
    CommandConfiguration(
      commandName: "login",
      abstract: Place.self == RootPlace.self
        ? "Log in to a host (the same as 'coffer auth login')." : "Store a token for a host.",
      discussion: """
        The token comes from standard input with --with-token, else from the hidden prompt. It replaces the one of that account, \
        which becomes the active one of its host.
        """)
  }

  @Argument(help: "The host, for example github.com.") var host: String
  // Here only so that a token in the wrong place is refused with its reason, and not quoted by the parser.
  @Argument(help: .hidden) var surplus: [String] = []
  @Option(help: ArgumentHelp("Whose token it is, where a host knows several.", valueName: "name")) var account: String?
  @Flag(help: "Take the token from standard input.") var withToken = false
  @Option(help: ArgumentHelp("When the token stops being handed out: 30d, 12h, 2026-12-31.", valueName: "when"))
  var expires: String?
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    guard surplus.isEmpty else { throw SecretArguments.refusal("a token") }
    let host = try AuthHost.check(host)
    let account = try StoredName.check(account ?? AuthAccounts.unnamed, as: "account")
    let expires = try expires.map { try Expiry.parse($0) }
    if withToken { try context.input.claim(for: "the token") }
    let accounts = AuthAccounts(items: try context.items())
    let token = try token(for: host)
    try accounts.store(token, host, account, expires: expires)
    let done = "logged in to \(Printable.line(host)) as \(Printable.line(account))"
    context.done(done, elsewhere: done)
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

typealias LogoutCommand = LogoutCommandAt<RootPlace>
typealias AuthLogoutCommand = LogoutCommandAt<FamilyPlace>

/// `coffer logout` and `coffer auth logout`.
struct LogoutCommandAt<Place>: OpeningCommand {
  static var configuration: CommandConfiguration {
    CommandConfiguration(
      commandName: "logout",
      abstract: Place.self == RootPlace.self
        ? "Log out of a host (the same as 'coffer auth logout')." : "Remove the token of a host.",
      discussion: """
        Removes the token from the vault; the host itself is told nothing, so revoke the token there as well. Where one other account \
        remains it becomes the active one.
        """)
  }

  @Argument(help: "The host; may be left out where there is one.", completion: Completions.hosts) var host: String?
  @Option(help: ArgumentHelp("The account, instead of the active one.", valueName: "name")) var account: String?
  @Flag(help: "All accounts of the host, or of all hosts where none is named.") var all = false
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func validate() throws {
    guard !all || account == nil else { throw ValidationError("--all and --account exclude each other") }
  }

  func perform(_ context: Context) throws {
    let host = try host.map { try AuthHost.check($0) }
    let accounts = AuthAccounts(items: try context.items())
    let gone = try all ? accounts.logins(of: host) : [accounts.login(host, account)]
    guard !gone.isEmpty else { throw AuthAccounts.nobody(host) }
    let next = try accounts.remove(gone)
    for login in gone {
      context.note("logged out of \(Printable.line(login.host)), account \(Printable.line(login.account))")
    }
    if let next { context.note("\(Printable.line(next)) is the active account now") }
  }
}

struct AuthStatusCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "status", abstract: "List hosts and accounts, which are active, and when tokens expire. Never a token.",
    discussion: "Exits with 1 where nobody is logged in.")

  @Argument(help: "One host alone.", completion: Completions.hosts) var host: String?
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    let host = try host.map { try AuthHost.check($0) }
    let logins = try AuthAccounts(items: try context.itemsToRead()).logins(of: host)
    guard !logins.isEmpty else { throw AuthAccounts.nobody(host) }
    guard !options.json else { return try Output.line(JSONText.encode(logins.map(LoginJSON.init))) }
    if Output.isTerminal { return try Self.table(logins).show() }
    try Output.line(
      Columns.align(
        logins.map { login in
          [login.host, login.account, login.isActive ? "active" : "-", expiry(of: login)]
        }))
  }

  private static func table(_ logins: [AuthAccounts.Login], _ time: LocalTime = LocalTime()) -> Table {
    Table(
      columns: [
        .text("HOST"), .text("ACCOUNT"), .fixed("ACTIVE", rank: 2), .fixed("SINCE", rank: 3), .fixed("EXPIRES", rank: 1),
      ],
      rows: logins.map { login in
        [
          Table.Cell(login.host), Table.Cell(login.account), Table.Cell(login.isActive ? "active" : "", .green),
          Table.Cell(time.ago(login.since), .dim),
          Table.Cell(login.expires.map(time.expiry) ?? "never", login.hasExpired ? .red : nil),
        ]
      }, footer: counted(logins.count, "login"))
  }

  private func expiry(of login: AuthAccounts.Login) -> String {
    guard let moment = login.expires else { return "does not expire" }
    return (login.hasExpired ? "expired " : "expires ") + Moment.text(moment)
  }
}

/// A login in JSON.
struct LoginJSON: Encodable {
  let host: String, account: String, active: Bool, expired: Bool
  let since: Date
  let expires: Date?

  init(_ login: AuthAccounts.Login) {
    host = login.host
    account = login.account
    active = login.isActive
    expired = login.hasExpired
    since = login.since
    expires = login.expires
  }
}

struct AuthTokenCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "token", abstract: "Print the token of a host's active account.",
    discussion:
      "Exactly the stored bytes go to a pipe; only a terminal gets a newline after them. Exits with 1 where it has expired.")

  @Argument(help: "The host; may be left out where there is one.", completion: Completions.hosts) var host: String?
  @Option(help: ArgumentHelp("The account, instead of the active one.", valueName: "name")) var account: String?
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    let host = try host.map { try AuthHost.check($0) }
    let accounts = AuthAccounts(items: try context.itemsToRead())
    let login = try accounts.login(host, account)
    let token = try accounts.token(of: login)
    if options.json {
      return try JSONText.write(JSONText.encode(["account": login.account, "host": login.host]), "token", token.bytes)
    }
    try Output.write(token.bytes)
    if Output.isTerminal { try Output.write("\n") }
  }
}

struct AuthSwitchCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "switch", abstract: "Make another account of a host the active one.",
    discussion: "Of two accounts the other is meant; of more, name one.")

  @Argument(help: "The host; may be left out where there is one.", completion: Completions.hosts) var host: String?
  @Option(help: ArgumentHelp("The account that becomes the active one.", valueName: "name")) var account: String?
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    let host = try host.map { try AuthHost.check($0) }
    let accounts = AuthAccounts(items: try context.items())
    let login = try login(accounts, host)
    try accounts.activate(login)
    context.note("\(Printable.line(login.account)) is the active account of \(Printable.line(login.host)) now")
  }

  private func login(_ accounts: AuthAccounts, _ host: String?) throws -> AuthAccounts.Login {
    if let account { return try accounts.login(host, account) }
    let active = try accounts.login(host, nil)
    let others = try accounts.logins(of: active.host).filter { $0.account != active.account }
    guard let other = others.first, others.count == 1 else {
      throw StoreError(
        .ambiguous, others.isEmpty ? "there is no other account" : "there are \(others.count) other accounts", key: active.host,
        cure: others.isEmpty ? "coffer auth login adds one" : "name one with --account")
    }
    return other
  }
}
