internal import ArgumentParser
internal import Coffer
internal import CofferLogin
internal import CofferStorage
internal import CofferPlatform
internal import CofferTerminal
internal import FoundationEssentials

struct AuthCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "auth", abstract: "Log in to hosts: a token for each host and account, one of them the active one.",
    discussion: """
      A server that speaks OAuth 2 logs in by a code or in the browser, and its tokens are renewed; any other token comes from \
      standard input (--with-token) or from the hidden prompt, never from an argument. A token is an item of the vault, 'coffer \
      vault get HOST ACCOUNT' finds it, and so is which account is active: nothing about it is readable outside.
      """,
    subcommands: [
      AuthLoginCommand.self, AuthLogoutCommand.self, AuthStatusCommand.self, AuthTokenCommand.self, AuthRefreshCommand.self,
      AuthSwitchCommand.self, AuthProviderCommand.self, AuthSetupGitCommand.self,
    ])
}

struct LoginChoice: ParsableArguments {
  @Argument(help: "The host; may be left out where there is one.", completion: Completions.hosts) var host: String?
  @Option(help: ArgumentHelp("The account, instead of the active one.", valueName: "name")) var account: String?

  func checkedHost() throws(Failure) -> String? { try host.map { (host) throws(Failure) in try AuthHost.check(host) } }

  func login(of accounts: AuthAccounts) throws -> AuthAccounts.Login { try accounts.login(checkedHost(), account) }
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
        Takes the token back at the server, where that gave it and has a way for that, and removes it from the vault in any \
        case. Of a token that was stored by hand the host is told nothing: revoke it there as well. Where one other account \
        remains it becomes the active one.
        """)
  }

  @OptionGroup var chosen: LoginChoice
  @Flag(help: "All accounts of the host, or of all hosts where none is named.") var all = false
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func validate() throws {
    guard !all || chosen.account == nil else { throw ValidationError("--all and --account exclude each other") }
  }

  func perform(_ context: Context) throws {
    let host = try chosen.checkedHost()
    let accounts = AuthAccounts(items: try context.items())
    let gone = try all ? accounts.logins(of: host) : [chosen.login(of: accounts)]
    guard !gone.isEmpty else { throw AuthAccounts.nobody(host) }
    for login in gone { revoke(try accounts.name(of: login), accounts.items, context) }
    let next = try accounts.remove(gone)
    for login in gone {
      context.note("logged out of \(Printable.line(login.host)), account \(Printable.line(login.account))")
    }
    if let next { context.note("\(Printable.line(next)) is the active account now") }
  }
}

extension LogoutCommandAt {
  /// Revokes a token at its server. Never throws: the logout continues, and a note names a token that the server still
  /// accepts.
  private func revoke(_ name: ItemName, _ items: VaultItems, _ context: Context) {
    do {
      guard let item = try items.item(name), let client = try RenewableLogin.client(of: item, in: items) else { return }
      // The server revokes a refresh token with all that came of it (RFC 7009, 2.1).
      guard let token = try items.get(name.field(named: RenewableLogin.refreshField)) ?? items.get(name) else { return }
      guard try !client.revoke(token, nil) else { return }
      context.note("\(Printable.line(name.service)) has no way to take a token back: remove it on its own page as well")
    } catch {
      context.note("the token was not taken back at \(Printable.line(name.service)): \(Failure.of(error)?.what ?? "\(error)")")
    }
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
    return (login.hasExpired ? "expired " : "expires ") + Moment.text(moment) + (login.isRenewable ? ", renewed on demand" : "")
  }
}

struct LoginJSON: Encodable {
  let host: String, account: String, active: Bool, expired: Bool
  let renewable: Bool
  let since: Date
  let expires: Date?
  let scope: String?

  init(_ login: AuthAccounts.Login) {
    host = login.host
    account = login.account
    active = login.isActive
    expired = login.hasExpired
    renewable = login.isRenewable
    since = login.since
    expires = login.expires
    scope = login.scope
  }
}

struct AuthTokenCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "token", abstract: "Print the token of a host's active account, renewed where it has ended.",
    discussion: """
      Exactly the token's bytes go to a pipe; only a terminal gets a newline after them. Exits with 1 where nobody is logged in, \
      or the token has expired and nothing renews it; with 77 where the server refuses to renew it; with 75 where the server \
      cannot be reached. However many processes ask at once, one asks the server.
      """)

  @OptionGroup var chosen: LoginChoice
  @Flag(help: "Renew it although it has not ended.") var fresh = false
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    let accounts = AuthAccounts(items: try context.itemsToRead())
    let login = try chosen.login(of: accounts)
    let token = try LiveToken(items: accounts.items).token(of: accounts.name(of: login), fresh: fresh)
    if options.json {
      return try JSONText.write(JSONText.encode(["account": login.account, "host": login.host]), "token", token.bytes)
    }
    try Output.value(token.bytes)
  }
}

struct AuthRefreshCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "refresh", abstract: "Renew the token of a host's active account now.",
    discussion: "Exits as 'coffer auth token' does.")

  @OptionGroup var chosen: LoginChoice
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: CommonOptions

  func perform(_ context: Context) throws {
    let accounts = AuthAccounts(items: try context.items())
    let login = try chosen.login(of: accounts)
    _ = try LiveToken(items: accounts.items).token(of: accounts.name(of: login), fresh: true)
    let done = "the token of \(Printable.line(login.account)) at \(Printable.line(login.host)) is renewed"
    context.done(done, elsewhere: done)
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
    let others = try accounts.logins(of: active.host).filter { !$0.account.hasSameBytes(as: active.account) }
    guard let other = others.first, others.count == 1 else {
      throw StoreError(
        .ambiguous, others.isEmpty ? "there is no other account" : "there are \(others.count) other accounts", key: active.host,
        cure: others.isEmpty ? "coffer auth login adds one" : "name one with --account")
    }
    return other
  }
}

extension AuthTokenCommand: HotCommand {
  mutating func take(_ line: inout HotLine) -> Bool {
    var chosen = LoginChoice()
    (chosen.host, chosen.account) = (line.word(), line.value("--account"))
    (self.chosen, fresh) = (chosen, line.flag("--fresh"))
    (unlocking, options) = (line.unlockingOptions(), line.answerOptions())
    return true
  }
}
