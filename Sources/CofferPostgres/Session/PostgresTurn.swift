internal import CofferPlatform
internal import CofferVault
internal import CofferVaultRows
internal import Synchronization

/// A lock of the server's that ends with its connection: "PostgreSQL, Advisory Locks". Every user of the database can take
/// it, and keep others waiting.
final class PostgresTurn: ServerTurn {
  /// Passed from the thread that made it to the one that ends it.
  private struct Held: @unchecked Sendable { let session: PostgresSession }
  private let held: Mutex<Held?>

  private init(_ session: PostgresSession) { held = Mutex(Held(session: session)) }

  /// Nil while another connection holds it.
  static func take(_ place: PostgresPlace) throws(StoreError) -> PostgresTurn? {
    let session = PostgresSession(place, patience: nil)
    let connection = try session.open()
    try connection.ask(
      "SELECT CASE WHEN pg_try_advisory_lock(hashtextextended($1, 0)) THEN 1::bigint ELSE 0::bigint END",
      [.text("turn \(place.schema)")], until: session.deadline)
    let answers = try connection.answers(doing: "take a turn", until: session.deadline)
    guard let answer = answers.first, answer.count == 1 else {
      throw StoreError(
        .damaged, "the server sent an unexpected answer", place: place.url, cure: "check what is at that address")
    }
    try answer.check([PostgresResult.bigint])
    guard try answer.number(0, 0) == 1 else {
      session.close()
      return nil
    }
    return PostgresTurn(session)
  }

  func end() { held.withLock { $0.take()?.session.close() } }
}
