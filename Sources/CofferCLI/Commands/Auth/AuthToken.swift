internal import ArgumentParser
internal import Coffer

struct AuthToken: Command {
  static let configuration = CommandConfiguration(
    commandName: "token", _superCommandName: "coffer auth", abstract: "Print the token of a host's active account.",
    discussion:
      "Exactly the stored bytes go to a pipe; only a terminal gets a newline after them. Exits with 1 where it has expired.")

  @Argument(help: "The host; may be left out where there is one.") var host: String?
  @Option(help: ArgumentHelp("The account, instead of the active one.", valueName: "name")) var account: String?
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var common: CommonOptions

  func perform(_ session: Session) throws {
    let host = try host.map { try AuthHost.check($0) }
    try CredentialSources(options: unlocking, session: session).claimInput()
    let accounts = AuthAccounts(items: try session.itemsToRead(unlocking))
    try Output.write(try accounts.token(of: accounts.login(host, account)).bytes)
    if Output.isTerminal { try Output.write("\n") }
  }
}
