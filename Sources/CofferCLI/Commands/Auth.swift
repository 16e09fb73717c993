internal import ArgumentParser
internal import Coffer
internal import CofferLogin
internal import CofferStorage
internal import CofferTerminal

struct LoginChoice: ParsableArguments {
  @Argument(help: "The host; optional if there is only one.", completion: Completions.hosts) var host: String?
  @Option(help: ArgumentHelp("The account, instead of the active one.", valueName: "name")) var account: String?

  func checkedHost() throws(Failure) -> String? { try host.map { (host) throws(Failure) in try AuthHost.check(host) } }

  func login(of accounts: AuthAccounts) throws -> AuthAccounts.Login { try accounts.login(checkedHost(), account) }
}

struct LogoutCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "logout", abstract: "Log out of a host: revoke its token and remove it.",
    discussion: """
      A token from the server is revoked there if the server supports it, and removed from the vault either way. A token that \
      you stored yourself is only removed: revoke it at the host too. If one other account is left, it becomes active.
      """)

  @OptionGroup var chosen: LoginChoice
  @Flag(help: "All accounts of the host, or of all hosts if none is named.") var all = false
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func validate() throws {
    guard !all || chosen.account == nil else { throw ValidationError("give --all or --account, not both") }
  }

  func perform(_ context: Context) throws {
    let host = try chosen.checkedHost()
    let accounts = AuthAccounts(items: try context.items())
    let gone = try all ? accounts.logins(of: host) : [chosen.login(of: accounts)]
    guard !gone.isEmpty else { throw AuthAccounts.nobody(host) }
    for login in gone { revoke(try accounts.name(of: login), accounts.items, context) }
    let next = try accounts.remove(gone)
    for login in gone { context.note("logged out of \(Printable.line(login.host)), account \(Printable.line(login.account))") }
    if let next { context.note("\(Printable.line(next)) is the active account now") }
  }

  /// Never throws: the logout continues, and a note names a token that the server still accepts.
  private func revoke(_ name: ItemName, _ items: VaultItems, _ context: Context) {
    do {
      guard let item = try items.item(name), let client = try RenewableLogin.client(of: item, in: items) else { return }
      // The server revokes a refresh token with all that came of it (RFC 7009, 2.1).
      guard let token = try items.get(name.field(named: RenewableLogin.refreshField)) ?? items.get(name) else { return }
      guard try !client.revoke(token, nil) else { return }
      context.note("\(Printable.line(name.service)) cannot revoke a token: revoke it on its own page too")
    } catch {
      context.note("the token was not revoked at \(Printable.line(name.service)): \(Failure.of(error)?.what ?? "\(error)")")
    }
  }
}

struct TokenCommand: HotCommand {
  static let configuration = CommandConfiguration(
    commandName: "token", abstract: "Print the token of a host's active account; renew it if it expired.",
    discussion: """
      If nobody is logged in, prints the value that git gets for the host: an item of https://HOST or of HOST. A pipe gets \
      exactly the token's bytes; a terminal also gets a newline. Exits with 1 if there is neither, or the token has expired and \
      nothing renews it; with 77 if the server refuses to renew it; with 75 if the server cannot be reached. If many processes \
      ask at once, only one asks the server.
      """)

  @OptionGroup var chosen: LoginChoice
  @Flag(help: "Renew it even before it expires.") var fresh = false
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    let accounts = AuthAccounts(items: try context.itemsToRead())
    let (host, account, token) = try accounts.token(chosen.checkedHost(), chosen.account, fresh: fresh)
    if options.json { return try JSONText.write(JSONText.encode(["account": account, "host": host]), "token", token.bytes) }
    try Output.value(token.bytes)
  }

  mutating func take(_ line: inout HotLine) -> Bool {
    var chosen = LoginChoice()
    (chosen.host, chosen.account) = (line.word(), line.value("--account"))
    (self.chosen, fresh) = (chosen, line.flag("--fresh"))
    (unlocking, options) = (line.unlockingOptions(), line.answerOptions())
    return true
  }
}
