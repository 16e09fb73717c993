internal import CofferPlatform
internal import CofferVaultRows

struct PostgresLog: LogRows {
  let rows: PostgresRows

  /// Log rows per question.
  private static let logBatch = 1024

  func forEachLogRow(
    from first: Int64, most: Int?, _ body: (_ seq: Int64, _ box: UnsafeRawBufferPointer) throws(StoreError) -> Void
  ) throws(StoreError) {
    var (next, left) = (first, most ?? .max)
    while left > 0 {
      let count = min(left, Self.logBatch)
      let answer: PostgresResult
      if let ahead = rows.transaction?.log, ahead.first == next, ahead.most == count {
        answer = ahead.rows
        try answer.check(Self.types)
      } else {
        answer = try rows.asked(Self.question(rows.schema), [.number(next), .number(Int64(count))], Self.types)
      }
      guard answer.count <= count else { throw rows.damaged("the log has more rows than were asked for") }
      for row in 0..<answer.count {
        let seq = try answer.number(row, 0)
        guard seq >= next else { throw rows.damaged("the log is not in order") }
        next = seq
        try body(seq, answer.bytes(row, 1))
      }
      guard answer.count == count, next < .max else { return }
      next += 1
      left -= count
    }
  }

  private static let types = [PostgresResult.bigint, PostgresResult.bytea]

  static func question(_ schema: String) -> String {
    "SELECT seq, \(box) FROM \(schema).log WHERE seq >= $1 ORDER BY seq LIMIT $2"
  }

  /// The chain reveals a longer one.
  private static let box = PostgresSchema.cut("box", RowLimits.rowBytes)

  func lendLogRow(_ seq: Int64, _ body: (UnsafeRawBufferPointer) throws(StoreError) -> Void) throws(StoreError) {
    let answer = try rows.asked(
      "SELECT \(Self.box) FROM \(rows.schema).log WHERE seq = $1 LIMIT 1", [.number(seq)], [PostgresResult.bytea])
    if answer.count > 0 { try body(answer.bytes(0, 0)) }
  }

  func firstLogRow() throws(StoreError) -> Int64? {
    let answer = try rows.asked("SELECT min(seq) FROM \(rows.schema).log", [], [PostgresResult.bigint])
    return answer.count == 0 || answer.isNull(0, 0) ? nil : try answer.number(0, 0)
  }

  func appendLogRow(_ seq: Int64, _ box: UnsafeRawBufferPointer) throws(StoreError) {
    try rows.queue(
      "INSERT INTO \(rows.schema).log (seq, box) VALUES ($1, $2)", [.number(seq), .bytes(box)], changesOne: true)
  }

  func putLogRow(_ seq: Int64, _ box: UnsafeRawBufferPointer) throws(StoreError) {
    try rows.queue(
      "INSERT INTO \(rows.schema).log (seq, box) VALUES ($1, $2) ON CONFLICT (seq) DO UPDATE SET box = excluded.box",
      [.number(seq), .bytes(box)], changesOne: true)
  }

  func keepLogRows(_ kept: ClosedRange<Int64>) throws(StoreError) {
    try rows.remove(from: "log", where: "seq < $1 OR seq > $2", [.number(kept.lowerBound), .number(kept.upperBound)])
  }
}

/// The outcomes of transactions over two stores.
struct PostgresOutcomes: OutcomeRows {
  let rows: PostgresRows

  func outcome(of transaction: UnsafeRawBufferPointer) throws(StoreError) -> OutcomeColumns? {
    let answer = try rows.asked(
      "SELECT outcome, time FROM \(rows.schema).decided WHERE txid = $1 LIMIT 1", [.bytes(transaction)],
      [PostgresResult.bigint, PostgresResult.bigint])
    return answer.count == 0 ? nil : OutcomeColumns(outcome: try answer.number(0, 0), time: try answer.number(0, 1))
  }

  func putOutcome(_ outcome: OutcomeColumns, of transaction: UnsafeRawBufferPointer) throws(StoreError) {
    try rows.queue(
      """
      INSERT INTO \(rows.schema).decided (txid, outcome, time) VALUES ($1, $2, $3)
        ON CONFLICT (txid) DO UPDATE SET outcome = excluded.outcome, time = excluded.time
      """, [.bytes(transaction), .number(outcome.outcome), .number(outcome.time)], changesOne: true)
  }

  func deleteOutcome(of transaction: UnsafeRawBufferPointer) throws(StoreError) {
    try rows.queue("DELETE FROM \(rows.schema).decided WHERE txid = $1", [.bytes(transaction)])
  }

  func forEachOutcome(_ body: (UnsafeRawBufferPointer, OutcomeColumns) throws(StoreError) -> Void) throws(StoreError) {
    let txid = PostgresSchema.cut("txid", RowLimits.transactionBytes)
    let answer = try rows.asked(
      "SELECT \(txid), outcome, time FROM \(rows.schema).decided LIMIT \(RecordQuery.listBatch + 1)", [],
      [PostgresResult.bytea, PostgresResult.bigint, PostgresResult.bigint])
    // Each is settled once its machine runs again.
    guard answer.count <= RecordQuery.listBatch else { throw rows.damaged("more transactions wait to be settled than ever do") }
    for row in 0..<answer.count {
      try body(
        answer.bytes(row, 0, RowLimits.transactionBytes...RowLimits.transactionBytes),
        OutcomeColumns(outcome: answer.number(row, 1), time: answer.number(row, 2)))
    }
  }

  func countOutcomes(_ outcome: Int64) throws(StoreError) -> Int64 {
    let answer = try rows.asked(
      "SELECT count(*) FROM \(rows.schema).decided WHERE outcome = $1", [.number(outcome)], [PostgresResult.bigint])
    return try answer.number(0, 0)
  }

  func expireOutcomes(_ outcome: Int64, before time: Int64, after limit: Int64) throws(StoreError) {
    try rows.queue("DELETE FROM \(rows.schema).decided WHERE outcome = $1 AND time < $2", [.number(outcome), .number(time)])
    try rows.queue(
      "UPDATE \(rows.schema).decided SET time = $2 WHERE outcome = $1 AND time > $2", [.number(outcome), .number(limit)])
  }
}

// The place as a whole.
extension PostgresRows {
  func forEachID(in table: SingleTable, _ body: (Int64) throws(StoreError) -> Void) throws(StoreError) {
    let answer = try asked("SELECT id FROM \(schema).\(table.rawValue) LIMIT 3", [], [PostgresResult.bigint])
    for row in 0..<answer.count { try body(answer.number(row, 0)) }
  }

  func removeAddedRows(
    keepingLogRows kept: ClosedRange<Int64>, times: ClosedRange<Int64>, mostDropped: Int64
  ) throws(StoreError) {
    for table in SingleTable.allCases { try remove(from: table.rawValue, where: "id <> \(table.id)") }
    try logRows.keepLogRows(kept)
    try queue(
      """
      DELETE FROM \(schema).decided WHERE octet_length(txid) <> \(RowLimits.transactionBytes) OR outcome < 1 OR outcome > 2
        OR time < \(times.lowerBound) OR time > \(times.upperBound)
      """)
    // Among too many, forged ones cannot be recognized.
    try queue(
      """
      DELETE FROM \(schema).decided WHERE outcome = 2
        AND (SELECT count(*) FROM \(schema).decided WHERE outcome = 2) > \(mostDropped)
      """)
  }

  /// For the server's administrators.
  func checkStorage(_ what: String) {}

  func during(_ work: RowsWork, _ body: () throws(StoreError) -> Void) throws(StoreError) { try body() }

  func storedBytes() -> Int64 { 0 }

  func removeOldBytes(rewriting: Bool) {}

  func keepCopy() throws(StoreError) -> VaultPlace {
    let copy = "\(session.place.nameOfCopies)\(Int(PostgresServer.now() * 1000))"
    let isWithin = transaction != nil
    let connection: PostgresConnection
    if isWithin { connection = try current().connection } else { connection = try session.open() }
    let deadline = session.deadline
    if !isWithin { try connection.perform("BEGIN ISOLATION LEVEL REPEATABLE READ", until: deadline) }
    for sql in PostgresSchema.copying(schema, to: "coffer_\(copy)") { try connection.perform(sql, until: deadline) }
    if !isWithin { try connection.perform("COMMIT", until: deadline) }
    do throws(StoreError) { _ = try connection.answers(doing: "keep a copy of the vault", until: deadline) } catch {
      if !isWithin { connection.rollBack(until: deadline) }
      throw error
    }
    let head = session.place.url.prefix { $0 != "#" }
    return VaultPlace("\(head)#\(copy)")
  }
}
