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
  @OptionGroup var output: JSONOption
  @OptionGroup var common: CommonOptions
  var wantsJSON: Bool { output.json }

  func perform(_ session: Session) throws {
    let host = try host.map { try AuthHost.check($0) }
    try CredentialSources(options: unlocking, session: session).claimInput()
    let accounts = AuthAccounts(items: try session.itemsToRead(unlocking))
    let login = try accounts.login(host, account)
    let token = try accounts.token(of: login)
    if output.json {
      return try JSONText.write(JSONText.encode(["account": login.account, "host": login.host]), "token", token.bytes)
    }
    try Output.write(token.bytes)
    if Output.isTerminal { try Output.write("\n") }
  }
}
