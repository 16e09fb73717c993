internal import CofferFormats
internal import CofferPlatform
internal import CofferTerminal
internal import FoundationEssentials

enum LoginTable {
  static func show(_ context: Context) throws {
    let logins = try AuthAccounts(items: try context.itemsToRead()).logins()
    guard !logins.isEmpty else { throw AuthAccounts.nobody(nil) }
    guard !context.json else { return try Output.line(JSONText.encode(logins.map(LoginJSON.init))) }
    if Output.isTerminal { return try table(logins).show() }
    try Output.line(
      Columns.tabs(
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

  private static func expiry(of login: AuthAccounts.Login) -> String {
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
    (host, account, active, expired) = (login.host, login.account, login.isActive, login.hasExpired)
    (renewable, since, expires, scope) = (login.isRenewable, login.since, login.expires, login.scope)
  }
}
