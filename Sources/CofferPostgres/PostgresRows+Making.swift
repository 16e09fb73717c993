internal import CofferPlatform
internal import CofferVaultRows

extension PostgresRows {
  /// Makes the tables and, by `fill`, their first rows in one transaction.
  func make(granting roles: [ServerRole], _ fill: (any VaultRows) throws(StoreError) -> Void) throws(StoreError) {
    _ = try session.open()
    let statements =
      PostgresSchema.statements(schema, makesSchema: !session.facts.hasSchema)
      + roles.flatMap { PostgresSchema.grants(schema, to: $0) }
    let connection: PostgresConnection
    do throws(StoreError) { connection = try session.makeTables(statements, "make the vault's tables") } catch {
      throw error.isOfSomethingThere ? PostgresServer.taken(session.place.url) : error
    }
    transaction = PostgresTransaction(connection, session)
    try finish(fill)
  }

  /// Whether the last written state is there; nil if another one is. Waits for a commit in progress, during which no table
  /// of that name can be made.
  func isMade() throws(StoreError) -> Bool? {
    let written = lastPut
    let connection = try session.open()
    do throws(StoreError) {
      try connection.perform("BEGIN", until: session.deadline)
      if !session.facts.hasSchema { try connection.perform("CREATE SCHEMA \(schema)", until: session.deadline) }
      try connection.perform("CREATE TABLE \(schema).state (id bigint)", until: session.deadline)
      _ = try connection.answers(doing: "find out whether the vault was made", until: session.deadline)
      connection.rollBack(until: session.deadline)
      return false
    } catch {
      connection.rollBack(until: session.deadline)
      guard error.isOfSomethingThere else { throw error }
    }
    // The server's facts about its tables may be outdated.
    session.close()
    // A write's commit waits for the standby: a restarted server no longer waits with the commit in question.
    var found: [UInt8]?
    try beginWriting()
    do throws(StoreError) { try lendState { (bytes) throws(StoreError) in found = [UInt8](bytes) } } catch {
      rollBack()
      throw error
    }
    try commit()
    return found == written ? true : nil
  }
}

extension StoreError {
  /// Whether the schema or table exists: `duplicate_schema`, `duplicate_table`, or the error of making it at the same time.
  var isOfSomethingThere: Bool {
    guard let failure = underlying as? PostgresFailure else { return false }
    return ["42P06", "42P07", "23505"].contains(failure.state)
  }
}
