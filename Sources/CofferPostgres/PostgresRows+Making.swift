internal import CofferPlatform
internal import CofferVault

extension PostgresRows {
  /// Makes the tables, and has `fill` write their first rows, in one transaction.
  func make(_ fill: (any VaultRows) throws(StoreError) -> Void) throws(StoreError) {
    let connection = try session.open()
    do throws(StoreError) {
      try connection.perform("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE", until: session.deadline)
      try connection.ask("SELECT \(PostgresSchema.isAsynchronous)", until: session.deadline)
      for sql in PostgresSchema.statements(schema) { try connection.perform(sql, until: session.deadline) }
      let answers = try connection.answers(doing: "make the vault's tables", until: session.deadline)
      for answer in answers {
        try answer.check([PostgresResult.bigint])
        try session.checkDurability(answer.number(0, 0))
      }
    } catch {
      Self.rollBack(connection, session.deadline)
      throw error.isOfSomethingThere ? PostgresServer.taken(session.place.url) : error
    }
    transaction = Transaction(connection: connection, isWriting: true, deadline: session.deadline)
    try finish(fill)
  }

  /// Whether the state that was written last is there; nil where another one is. A commit that is still on its way is waited for: a schema
  /// of that name cannot be made meanwhile.
  func isMade() throws(StoreError) -> Bool? {
    let written = lastPut
    let connection = try session.open()
    do throws(StoreError) {
      try connection.perform("BEGIN", until: session.deadline)
      try connection.perform("CREATE SCHEMA \(schema)", until: session.deadline)
      _ = try connection.answers(doing: "find out whether the vault was made", until: session.deadline)
      Self.rollBack(connection, session.deadline)
      return false
    } catch {
      Self.rollBack(connection, session.deadline)
      guard error.isOfSomethingThere else { throw error }
    }
    var found: [UInt8]?
    try beginReading()
    do throws(StoreError) { try lendState { (bytes) throws(StoreError) in found = [UInt8](bytes) } } catch {
      rollBack()
      throw error
    }
    try endReading()
    return found == written ? true : nil
  }
}

extension StoreError {
  /// Whether a schema could not be made because there is one: `duplicate_schema`, and what two that make it at once are told.
  fileprivate var isOfSomethingThere: Bool {
    guard let failure = underlying as? PostgresFailure else { return false }
    return failure.state == "42P06" || failure.state == "23505"
  }
}
