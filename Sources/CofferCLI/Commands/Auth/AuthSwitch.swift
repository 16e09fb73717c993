internal import ArgumentParser
internal import Coffer

struct AuthSwitch: Command {
  static let configuration = CommandConfiguration(
    commandName: "switch", abstract: "Make another account of a host the active one.",
    discussion: "Of two accounts the other is meant; of more, name one.")

  @Argument(help: "The host; may be left out where there is one.") var host: String?
  @Option(help: ArgumentHelp("The account that becomes the active one.", valueName: "name")) var account: String?
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var output: JSONOption
  @OptionGroup var common: CommonOptions
  var wantsJSON: Bool { output.json }

  func perform(_ session: Session) throws {
    let host = try host.map { try AuthHost.check($0) }
    try CredentialSources(options: unlocking, session: session).claimInput()
    let accounts = AuthAccounts(items: try session.items(unlocking))
    let login = try login(accounts, host)
    try accounts.activate(login)
    session.note("\(Printable.line(login.account)) is the active account of \(Printable.line(login.host)) now")
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
