internal import ArgumentParser
internal import Coffer
internal import FoundationEssentials

struct AuthStatus: Command {
  static let configuration = CommandConfiguration(
    commandName: "status", abstract: "List hosts and accounts, which are active, and when tokens expire. Never a token.",
    discussion: "Exits with 1 where nobody is logged in.")

  @Argument(help: "One host alone.") var host: String?
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var output: JSONOption
  @OptionGroup var common: CommonOptions
  var wantsJSON: Bool { output.json }

  func perform(_ session: Session) throws {
    let host = try host.map { try AuthHost.check($0) }
    try CredentialSources(options: unlocking, session: session).claimInput()
    let logins = try AuthAccounts(items: try session.itemsToRead(unlocking)).logins(of: host)
    guard !logins.isEmpty else { throw AuthAccounts.nobody(host) }
    guard !output.json else { return try Output.line(JSONText.encode(logins.map(LoginJSON.init))) }
    try Output.line(
      Columns.align(
        logins.map { login in
          [login.host, login.account, login.isActive ? "active" : "-", expiry(of: login)]
        }))
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
