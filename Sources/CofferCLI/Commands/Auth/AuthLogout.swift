internal import ArgumentParser
internal import Coffer

/// What a logout takes, under either of its names.
struct LogoutOptions: ParsableArguments {
  @Argument(help: "The host; may be left out where there is one.") var host: String?
  @Option(help: ArgumentHelp("The account, instead of the active one.", valueName: "name")) var account: String?
  @Flag(help: "All accounts of the host.") var all = false
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var output: JSONOption

  static let discussion = """
    Removes the token from the vault; the host itself is told nothing, so revoke the token there as well. Where one other account \
    remains it becomes the active one.
    """

  func validate() throws {
    guard !all || account == nil else { throw ValidationError("--all and --account exclude each other") }
  }

  func perform(_ session: Session) throws {
    let host = try host.map { try AuthHost.check($0) }
    try CredentialSources(options: unlocking, session: session).claimInput()
    let accounts = AuthAccounts(items: try session.items(unlocking))
    let gone = try all ? everyLogin(accounts, host) : [accounts.login(host, account)]
    let next = try accounts.remove(gone)
    for login in gone {
      session.note("logged out of \(Printable.line(login.host)), account \(Printable.line(login.account))")
    }
    if let next { session.note("\(Printable.line(next)) is the active account now") }
  }

  private func everyLogin(_ accounts: AuthAccounts, _ host: String?) throws -> [AuthAccounts.Login] {
    let logins = try accounts.logins(of: host)
    guard let first = logins.first else { throw AuthAccounts.nobody(host) }
    // Several hosts: the same error as for one account.
    return logins.allSatisfy { $0.host == first.host } ? logins : [try accounts.login(host, nil)]
  }
}

struct AuthLogout: Command {
  static let configuration = CommandConfiguration(
    commandName: "logout", abstract: "Remove the token of a host.", discussion: LogoutOptions.discussion)
  @OptionGroup var options: LogoutOptions
  @OptionGroup var common: CommonOptions
  func perform(_ session: Session) throws { try options.perform(session) }
}

struct LogoutCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "logout", abstract: "Log out of a host (the same as 'coffer auth logout').",
    discussion: LogoutOptions.discussion)
  @OptionGroup var options: LogoutOptions
  @OptionGroup var common: CommonOptions
  func perform(_ session: Session) throws { try options.perform(session) }
}
