internal import CofferPlatform
internal import CofferStorage

/// The plain half of a transaction with a vault in the same database, whose connection makes both.
///
/// - Note: unchecked, because it is made, passed to the vault and read within one call, on one thread.
final class PlainHalf: CompanionWrites, @unchecked Sendable {
  private let write: PlainWrite
  private let expectations: [String: PlainForm?]
  private let changes: [(name: String, form: PlainForm?)]
  /// The names of the plain store's database.
  private let database: [[UInt8]]
  private(set) var state = State.waiting

  enum State {
    case waiting
    /// Part of a transaction that was not made.
    case begun
    case made
    /// The commit was not answered.
    case lost
  }

  init(
    _ write: PlainWrite, if expectations: [String: PlainForm?], _ changes: [(name: String, form: PlainForm?)],
    in database: [[UInt8]]
  ) {
    self.write = write
    self.expectations = expectations
    self.changes = changes
    self.database = database
  }

  /// Takes the plain store's lock and compares the expectations, before the vault takes its own lock.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/unsupported`` if the connection leads to another database,
  ///   ``/CofferPlatform/StoreError/Kind/conflict``.
  func begin(_ connection: PostgresConnection, _ session: PostgresSession) throws(StoreError) {
    state = .begun
    do throws(StoreError) {
      guard !Set(database).isDisjoint(with: session.facts.database) else { throw Self.apart(write.table.place) }
      try write.begin(connection, session)
      try write.compare(expectations)
      try write.change(changes)
    } catch {
      connection.rollBack(until: session.deadline)
      throw error
    }
  }

  func queue(_ connection: PostgresConnection, _ deadline: ContinuousClock.Instant) throws(StoreError) {
    try write.queue(connection, deadline)
  }

  func end(_ state: State) { self.state = state }

  static func apart(_ place: String) -> StoreError {
    StoreError(
      .unsupported, "a transaction writes to this plain store and to a vault that is not opened here in the same database",
      place: place, cure: "keep both in one database and open both in this process, or write them separately")
  }
}
