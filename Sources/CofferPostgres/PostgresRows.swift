internal import CofferPlatform
internal import CofferStorage
internal import CofferVaultFormat
internal import CofferVaultRows

/// The rows of a vault on a PostgreSQL server, which is trusted only to store bytes: types and lengths are checked here, and
/// the rows are sealed.
///
/// The state's row orders everything. A write locks it before it reads anything else, so that writers take turns. A read
/// compares it with the last state seen, and reads the rest in the same snapshot: by one statement for one item, or by a
/// transaction after others' changes.
final class PostgresRows: ServerRows {
  let session: PostgresSession
  let schema: String
  private(set) var isClosed = false
  var transaction: PostgresTransaction?
  /// The last state seen, and the number of others' changes since.
  private var known: [UInt8]?
  private var version: Int64 = 0
  /// The number of further writes that read others' changes at once.
  private var othersWrite = 0
  /// The announced rows, outside of a transaction.
  var announced: PostgresTransaction.Beginning?
  /// The plain half for the next write.
  private var companion: PlainHalf?
  private(set) var hasLostCommit = false
  /// The state put when the tables were made.
  private(set) var lastPut: [UInt8]?

  init(_ session: PostgresSession) {
    self.session = session
    schema = session.place.schema
  }

  var place: VaultPlace { session.shown }
  // A server's claim about its rights must not reduce what is remembered of it.
  var isUnwritableFile: Bool { false }
  var canRemoveOldBytes: Bool { false }
  var isRemote: Bool { true }

  func isStandby() -> Bool {
    guard session.facts.isStandby else { return false }
    // It may have been promoted since.
    session.close()
    return true
  }

  var logRows: any LogRows { PostgresLog(rows: self) }
  var outcomeRows: any OutcomeRows { PostgresOutcomes(rows: self) }
  var intents: (any IntentRows)? { PostgresIntents(rows: self) }
  var queueing = Queueing()

  // MARK: Transactions

  func beginReading() throws(StoreError) { _ = try begin(writing: false) }

  func endReading() throws(StoreError) {
    try transaction.take()?.end()
  }

  func beginWriting() throws(StoreError) { _ = try beginWriting(nil) }

  /// - Parameter turn: how to take a turn only if nobody else has it; nil to wait for it.
  /// - Returns: false if another writer has it.
  func beginWriting(_ turn: PostgresTransaction.Turn?) throws(StoreError) -> Bool {
    hasLostCommit = false
    if !session.facts.mayWrite {
      // The role may have been granted the right since the connection was made.
      session.close()
      _ = try session.open()
    }
    do throws(StoreError) { if session.facts.mayWrite { return try begin(writing: true, turn) } } catch {
      guard (error.underlying as? PostgresFailure)?.state == "42501" else { throw error }
    }
    announced = nil
    throw StoreError(
      .readOnly, "this role may not write to the vault", place: place.description,
      cure: "ask the server's administrator for the role of a writer")
  }

  func commit() throws(StoreError) {
    guard let transaction = transaction.take() else { return }
    try commit(transaction)
  }

  func rollBack() {
    queueing.draft = nil
    transaction.take()?.rollBack()
  }

  private func begin(writing: Bool, _ turn: PostgresTransaction.Turn? = nil) throws(StoreError) -> Bool {
    guard !isClosed else { throw StoreError(.closed, "the vault was closed", place: place.description, cure: "open it again") }
    guard transaction == nil else {
      throw StoreError(
        .reentrant, "a transaction was begun inside another", place: place.description, cure: "use the open one")
    }
    let ahead = announced.take()
    // For this write alone: one that settles or follows a lost commit has no companion.
    let half = writing ? companion.take() : nil
    let (known, followsOthers, isDraft) = (known, othersWrite > 0, queueing.draft != nil)
    let begun = try session.begin { [session] (connection) throws(StoreError) in
      writing
        ? try .writing(connection, session, ahead, known: known, followsOthers: followsOthers, half: half, turn)
        : try PostgresTransaction.reading(connection, session, ahead, known: known, isDraft: isDraft)
    }
    queueing.isReplicated = begun.isReplicated
    guard turn == nil || begun.state != nil else {
      try begun.end()
      return false
    }
    transaction = begun
    if begun.state != known {
      // After eight writes in a row without one of others, it is 0.
      othersWrite = known == nil ? 0 : 8
      version += 1
      self.known = begun.state
    } else if writing {
      othersWrite = max(0, othersWrite - 1)
    }
    return true
  }

  private func commit(_ transaction: PostgresTransaction) throws(StoreError) {
    let (connection, deadline) = (transaction.connection, session.deadline)
    do throws(StoreError) {
      try connection.commit(at: place, until: deadline) { () throws(StoreError) in
        if transaction.hasPut, let state = transaction.state {
          let generation = state.prefix(8).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
          try connection.perform(
            "SELECT pg_catalog.pg_notify($1, $2)", [.text(schema), .text(String(generation))], until: deadline)
        }
        try transaction.half?.queue(connection, deadline)
      }
    } catch {
      if error.kind == .outcomeUnknown {
        hasLostCommit = connection.isLost
        known = nil
        transaction.half?.end(connection.isLost ? .lost : .begun)
      }
      throw error
    }
    transaction.half?.end(.made)
    if transaction.hasPut { known = transaction.state }
  }

  func finish(_ body: (any VaultRows) throws(StoreError) -> Void) throws(StoreError) {
    do throws(StoreError) { try body(self) } catch {
      rollBack()
      throw error
    }
    lastPut = transaction?.state
    try commit()
  }

  func close() {
    isClosed = true
    session.close()
  }

  func discard() {
    defer { close() }
    do throws(StoreError) {
      let (connection, deadline) = (try session.open(), session.deadline)
      for table in PostgresSchema.names { try connection.perform("DROP TABLE \(schema).\(table)", until: deadline) }
      _ = try connection.answers(doing: "remove the vault", until: deadline)
      // Plain values in the schema keep it.
      try connection.perform("DROP SCHEMA \(schema)", until: deadline)
      _ = try connection.answers(doing: "remove the vault's schema", until: deadline)
    } catch {}
  }

  func removeAllRows() throws(StoreError) {
    for table in PostgresSchema.names where table != SingleTable.state.rawValue { try remove(from: table, where: "true") }
    // The row stays: a process that waits for its lock would find none, and hold none.
    try remove(from: "state", where: "id <> 1")
  }

  // MARK: What others did

  func dataVersion() -> Int64 { version }

  func recheckSchema() {}

  func accompany(with companion: (any CompanionWrites)?) { self.companion = companion as? PlainHalf }

  func isInPlace() -> Bool { true }

  // MARK: Asking within a transaction

  func asked(
    _ sql: String, _ parameters: [PostgresConnection.Parameter] = [], _ types: [UInt32]
  ) throws(StoreError) -> PostgresResult {
    let transaction = try current()
    try transaction.connection.ask(sql, parameters, until: session.deadline)
    let answer = try transaction.lastAnswer()
    try answer.check(types)
    return answer
  }

  /// Queues a change whose failure fails the transaction.
  func queue(
    _ sql: String, _ parameters: [PostgresConnection.Parameter] = [], changesOne: Bool = false
  ) throws(StoreError) {
    let transaction = try current()
    guard transaction.isWriting else {
      throw StoreError(.readOnly, "a read changes nothing", place: place.description, cure: "write in a transaction that writes")
    }
    transaction.willChange()
    try transaction.connection.perform(sql, parameters, changesOne: changesOne, until: session.deadline)
  }

  /// The transaction fails if one of the rows stays.
  func remove(
    from table: String, where condition: String, _ parameters: [PostgresConnection.Parameter] = []
  ) throws(StoreError) {
    let transaction = try current()
    transaction.willChange()
    try transaction.connection.remove(
      from: "\(schema).\(table)", where: condition, parameters, until: session.deadline)
  }

  /// The transaction, begun at the server if necessary.
  func current() throws(StoreError) -> PostgresTransaction {
    guard let transaction else {
      throw StoreError(.closed, "no transaction is under way", place: place.description, cure: "begin one")
    }
    try transaction.goOn()
    return transaction
  }

  // MARK: Header, state and digests

  func lendHeader(_ copy: HeaderCopy, _ body: (UnsafeRawBufferPointer) throws(StoreError) -> Void) throws(StoreError) {
    let answer: PostgresResult
    if copy == .first, let header = transaction?.header {
      answer = header
      try answer.check([PostgresResult.bytea])
    } else {
      answer = try asked((copy == .first ? SingleTable.header : .headerCopy).question(schema), [], [PostgresResult.bytea])
    }
    if answer.count > 0 { try body(answer.bytes(0, 0, RowLimits.headerBytes)) }
  }

  func putHeader(_ copy: HeaderCopy, _ bytes: UnsafeRawBufferPointer) throws(StoreError) {
    try put(copy == .first ? .header : .headerCopy, bytes)
  }

  func lendState(_ body: (UnsafeRawBufferPointer) throws(StoreError) -> Void) throws(StoreError) {
    guard let state = transaction?.state else { return }
    try state.span.bytes.withUnsafeBytes { (bytes) throws(StoreError) in try body(bytes) }
  }

  func putState(_ bytes: UnsafeRawBufferPointer) throws(StoreError) {
    if transaction?.state == nil {
      try put(.state, bytes)
    } else {
      try queue("UPDATE \(schema).state SET bytes = $1 WHERE id = 1", [.bytes(bytes)], changesOne: true)
    }
    transaction?.put([UInt8](bytes))
  }

  private func put(_ table: SingleTable, _ bytes: UnsafeRawBufferPointer) throws(StoreError) {
    try queue(
      """
      INSERT INTO \(schema).\(table.rawValue) (id, bytes) VALUES (\(table.id), $1)
        ON CONFLICT (id) DO UPDATE SET bytes = excluded.bytes
      """, [.bytes(bytes)], changesOne: true)
  }

  func forEachDigest(
    in buckets: [Int]?, _ body: (_ bucket: Int, _ hash: UnsafeRawBufferPointer) throws(StoreError) -> Void
  ) throws(StoreError) {
    let types = [PostgresResult.bigint, PostgresResult.bytea]
    let answer: PostgresResult
    if buckets == nil, let ahead = transaction?.digests {
      answer = ahead
      try answer.check(types)
    } else if let buckets {
      let numbers = PostgresResult.array(of: buckets.map { Int64($0) })
      answer = try numbers.span.bytes.withUnsafeBytes { (numbers) throws(StoreError) in
        try asked(Self.digests(schema, "WHERE bucket = ANY($1::bigint[])"), [.bytes(numbers)], types)
      }
    } else {
      answer = try asked(Self.digests(schema), [], types)
    }
    var least: Int64 = 0
    for row in 0..<answer.count {
      let bucket = try answer.number(row, 0)
      guard bucket >= least, bucket < RowLimits.buckets else { throw damaged("the digests are not in order") }
      least = bucket + 1
      try body(Int(bucket), answer.bytes(row, 1, RowLimits.digestBytes...RowLimits.digestBytes))
    }
  }

  static func digests(_ schema: String, _ condition: String = "") -> String {
    "SELECT bucket, \(PostgresSchema.cut("hash", RowLimits.digestBytes)) FROM \(schema).digest \(condition) ORDER BY bucket "
      + "LIMIT \(RowLimits.buckets + 1)"
  }

  func putDigest(_ hash: UnsafeRawBufferPointer, bucket: Int) throws(StoreError) {
    try queue(
      """
      INSERT INTO \(schema).digest (bucket, hash) VALUES ($1, $2) ON CONFLICT (bucket) DO UPDATE SET hash = excluded.hash
      """, [.number(Int64(bucket)), .bytes(hash)], changesOne: true)
  }

  func deleteDigest(bucket: Int) throws(StoreError) {
    try remove(from: "digest", where: "bucket = $1", [.number(Int64(bucket))])
  }

  func damaged(_ what: String) -> StoreError {
    StoreError(.damaged, what, place: place.description, cure: "run verify, then restore a backup")
  }
}

extension SingleTable {
  func question(_ schema: String) -> String { "SELECT \(bytes) FROM \(schema).\(rawValue) WHERE id = \(id) LIMIT 1" }

  /// The header, if the state is not $1.
  static func changedHeader(_ schema: String) -> String {
    "SELECT \(header.bytes) FROM \(schema).header WHERE id = 1 "
      + "AND NOT EXISTS (SELECT 1 FROM \(schema).state WHERE id = 1 AND bytes = $1) LIMIT 1"
  }

  var bytes: String {
    PostgresSchema.cut("bytes", (self == .state ? RowLimits.stateBytes : RowLimits.headerBytes).upperBound)
  }
}
