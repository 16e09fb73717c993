internal import CofferPlatform
internal import CofferVaultRows

/// Source: PostgreSQL, "GRANT", "ALTER DEFAULT PRIVILEGES", "Access Privilege Inquiry Functions".
extension PostgresServer {
  func statements(_ url: String, granting role: ServerRole) throws(StoreError) -> [String] {
    PostgresSchema.grants(try PostgresPlace(url).schema, to: role)
  }

  func grant(_ url: String, _ roles: [ServerRole]) throws(StoreError) -> [ServerRole] {
    let rows = try rows(url, nil)
    defer { rows.close() }
    let (session, connection) = (rows.session, try rows.session.open())
    try Self.check(roles, session)
    // To any other role the server grants nothing, and only warns.
    let owns = "SELECT count(*) FROM pg_namespace WHERE nspname = $1 AND pg_has_role(nspowner, 'USAGE')"
    guard try Self.ask(owns, [.text(session.place.schema)], session) == 1 else {
      throw StoreError(
        .denied, "this role does not own the vault's tables", place: session.shown.description,
        cure: "use the role that created the vault")
    }
    // One after the other: the server fails the second of two that change one table's rights.
    let begin = ["BEGIN", "LOCK TABLE \(rows.schema).header IN SHARE ROW EXCLUSIVE MODE"]
    let statements = roles.flatMap { PostgresSchema.grants(rows.schema, to: $0, replacing: true) }
    do throws(StoreError) {
      for sql in begin + statements { try connection.perform(sql, until: session.deadline) }
      _ = try connection.answers(doing: "grant rights to roles", until: session.deadline)
      var more: [ServerRole] = []
      for role in roles where try Self.hasMore(role, session) { more.append(role) }
      try connection.perform("COMMIT", until: session.deadline)
      _ = try connection.answers(doing: "grant rights to roles", until: session.deadline)
      return more
    } catch {
      connection.rollBack(until: session.deadline)
      throw error
    }
  }

  /// Whether each role is there, and does not own the tables: the owner would lock itself out.
  static func check(_ roles: [ServerRole], _ session: PostgresSession) throws(StoreError) {
    for role in roles {
      let isOwner = "rolname = current_user OR oid IN (SELECT nspowner FROM pg_namespace WHERE nspname = $2)"
      let found = try ask(
        "SELECT CASE WHEN \(isOwner) THEN 1::bigint ELSE 0 END FROM pg_roles WHERE rolname = $1 LIMIT 1",
        [.text(role.name), .text(session.place.schema)], session)
      guard let found else {
        throw StoreError(
          .invalidName, "the server has no role of this name", key: role.name, place: session.shown.description,
          cure: "check the name, or create it with CREATE ROLE")
      }
      guard found == 0 else {
        throw StoreError(
          .refused, "this role owns the vault's tables", key: role.name, place: session.shown.description,
          cure: "name other roles: the owner has all rights")
      }
    }
  }

  private static func hasMore(_ role: ServerRole, _ session: PostgresSession) throws(StoreError) -> Bool {
    guard role.access != .writer else { return false }
    let rights = role.access == .none ? "SELECT, INSERT, UPDATE, DELETE" : "INSERT, UPDATE, DELETE"
    let names = PostgresSchema.names.map { "('\($0)')" }.joined(separator: ", ")
    let count = try ask(
      """
      SELECT count(*) FROM (VALUES \(names)) t (name)
        WHERE has_table_privilege($1::name, ('\(session.place.schema).' || t.name)::text, '\(rights)')
      """, [.text(role.name)], session)
    return count != 0
  }

  /// A number; nil if there is no row.
  private static func ask(
    _ sql: String, _ parameters: [PostgresConnection.Parameter], _ session: PostgresSession
  ) throws(StoreError) -> Int64? {
    let connection = try session.open()
    try connection.ask(sql, parameters, isKept: false, until: session.deadline)
    guard let answer = try connection.answers(doing: "look at the roles", until: session.deadline).first, answer.count > 0 else {
      return nil
    }
    try answer.check([PostgresResult.bigint])
    return try answer.number(0, 0)
  }
}

extension PostgresSchema {
  /// The statements of the tables' owner that give a role its rights to a place, and to later tables there.
  ///
  /// - Parameter replacing: whether the role may have other rights.
  static func grants(_ schema: String, to role: ServerRole, replacing: Bool = false) -> [String] {
    let name = "\"\(role.name.replacing("\"", with: "\"\""))\""
    let rights = role.access == .writer ? "SELECT, INSERT, UPDATE, DELETE" : "SELECT"
    let later = "ALTER DEFAULT PRIVILEGES IN SCHEMA \(schema)"
    let revoked = [
      "REVOKE ALL ON ALL TABLES IN SCHEMA \(schema) FROM \(name);", "\(later) REVOKE ALL ON TABLES FROM \(name);",
      "REVOKE ALL ON SCHEMA \(schema) FROM \(name);",
    ]
    guard role.access != .none else { return revoked }
    return (replacing ? revoked : []) + [
      "GRANT USAGE ON SCHEMA \(schema) TO \(name);", "GRANT \(rights) ON ALL TABLES IN SCHEMA \(schema) TO \(name);",
      "\(later) GRANT \(rights) ON TABLES TO \(name);",
    ]
  }
}
