internal import CofferPlatform
internal import CofferVault
internal import SystemPackage

/// The rows of a vault on a PostgreSQL server. It believes the server nothing but that it stores bytes: types and lengths are checked here, and
/// what the rows say is sealed.
///
/// The row of the state orders everything. A write locks it before it reads anything else, so that writers come one after the other; a read
/// compares it with the one that it saw last, and asks for the rest in the same snapshot: by one statement where one item is read, and by a
/// transaction where others have written since.
final class PostgresRows: ServerRows {
  let session: PostgresSession
  let schema: String
  private(set) var isClosed = false
  var transaction: Transaction?
  /// The state as this process saw it last, and how often somebody else has changed it since.
  private var known: [UInt8]?
  private var version: Int64 = 0
  /// How many of the next writes ask for the header and the digests at once, since others write too.
  private var othersWrite = 0
  /// So many writes in a row without one of others end that.
  private static let mostOthersWrite = 8
  /// What is asked for next, outside of a transaction.
  var announced: (index: [UInt8], lists: Bool)?
  private(set) var hasLostCommit = false
  /// The state that was put when the tables were made.
  private(set) var lastPut: [UInt8]?

  /// What is known within a transaction.
  struct Transaction {
    let connection: PostgresConnection
    let isWriting: Bool
    let deadline: ContinuousClock.Instant
    /// What a plain store in the same database has it make too.
    let half: PlainHalf?
    /// Whether it was one statement, which the server has answered: it has no transaction under way.
    var isAnswered = false
    /// The state as it is in this transaction.
    var state: [UInt8]?
    /// Whether a state was put.
    var hasPut = false
    /// Lists and records that came along with others.
    var lists: [RecordTable: ListScan] = [:]
    var records: RecordScan?
    var ahead: RecordAhead?
    /// Answers to questions that will be asked, until something is changed.
    var answered: [String: PostgresResult] = [:]
  }

  init(_ session: PostgresSession) {
    self.session = session
    schema = session.place.schema
  }

  var place: VaultPlace { session.shown }
  var isReadOnly: Bool { !session.facts.mayWrite }
  var canRemoveOldBytes: Bool { false }
  var isRemote: Bool { true }
  var logRows: any LogRows { PostgresLog(rows: self) }
  var outcomeRows: any OutcomeRows { PostgresOutcomes(rows: self) }

  // MARK: Transactions

  func beginReading() throws(StoreError) { try begin(writing: false) }

  func endReading() throws(StoreError) {
    guard let transaction = transaction.take(), !transaction.isAnswered else { return }
    try transaction.connection.endReading(until: transaction.deadline)
  }

  func beginWriting() throws(StoreError) {
    hasLostCommit = false
    try begin(writing: true)
    guard !session.facts.mayWrite else { return }
    rollBack()
    throw StoreError(
      .readOnly, "this role may not write to the vault", place: place.description,
      cure: "ask who runs the server for the role of a writer")
  }

  func commit() throws(StoreError) {
    guard let transaction = transaction.take() else { return }
    try commit(transaction)
  }

  func rollBack() {
    guard let transaction = transaction.take(), !transaction.isAnswered else { return }
    transaction.connection.rollBack(until: session.deadline)
  }

  private func begin(writing: Bool) throws(StoreError) {
    guard !isClosed else { throw StoreError(.closed, "the vault was closed", place: place.description, cure: "open it again") }
    guard transaction == nil else {
      throw StoreError(
        .reentrant, "a transaction was begun inside another", place: place.description, cure: "use the one that is under way")
    }
    let ahead = announced.take()
    // Of this write alone: what settles a lost commit, or comes after one, takes nothing along.
    let half = writing ? PlainHalf.take() : nil
    try session.begin { (connection) throws(StoreError) in try start(connection, writing, ahead, half) }
  }

  private func start(
    _ connection: PostgresConnection, _ writing: Bool, _ ahead: (index: [UInt8], lists: Bool)?, _ half: PlainHalf?
  ) throws(StoreError) {
    var needsDigests = writing && othersWrite > 0
    if !writing, let ahead, !ahead.lists, known != nil {
      guard try !readAtOnce(connection, ahead.index) else { return }
      needsDigests = true
    }
    let deadline = session.deadline
    var transaction = Transaction(connection: connection, isWriting: writing, deadline: deadline, half: half)
    if writing {
      try connection.perform("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE", until: deadline)
      // The plain store's lock comes before the vault's everywhere.
      try half?.begin(connection, session)
      // Alone and first: rows that were joined to it would come from before the wait for the lock.
      try connection.ask(
        """
        SELECT bytes, \(PostgresSchema.isAsynchronous) FROM \(schema).state WHERE id = 1 FOR UPDATE
        """, until: deadline)
    } else {
      try beginSnapshot(connection, deadline)
    }
    let questions = needsDigests ? [question(.first), digestsQuestion] : []
    for question in questions { try connection.ask(question, until: deadline) }
    if let ahead {
      if ahead.lists || needsDigests {
        try RecordReader(rows: self).askForList(ofBucketWith: ahead.index, connection, deadline)
      }
      try ahead.index.span.bytes.withUnsafeBytes { (index) throws(StoreError) in
        try connection.ask(RecordQuery.record(schema, .present, .all), [.bytes(index)], until: deadline)
      }
    }
    let answers: [PostgresResult]
    do throws(StoreError) {
      answers = try connection.answers(doing: writing ? "begin to write" : "read the vault", until: deadline)
    } catch {
      connection.rollBack(until: deadline)
      throw error
    }
    self.transaction = transaction
    do throws(StoreError) {
      try answers[0].check(writing ? [PostgresResult.bytea, PostgresResult.bigint] : [PostgresResult.bytea])
      if answers[0].count > 0 {
        transaction.state = [UInt8](try answers[0].bytes(0, 0, RowLimits.stateBytes))
        if writing { try session.checkDurability(answers[0].number(0, 1)) }
      }
      for (place, question) in questions.enumerated() { transaction.answered[question] = answers[1 + place] }
      if let ahead {
        if ahead.lists || needsDigests {
          transaction.lists[.present] = try ListScan(answers[answers.count - 2], bucketWith: ahead.index, place)
        }
        transaction.ahead = RecordAhead(index: ahead.index, rows: answers[answers.count - 1], first: 0)
      }
      if transaction.state != known {
        othersWrite = known == nil ? 0 : Self.mostOthersWrite
        version += 1
        known = transaction.state
      } else if writing {
        othersWrite = max(0, othersWrite - 1)
      }
      self.transaction = transaction
    } catch {
      rollBack()
      throw error
    }
  }

  private func beginSnapshot(_ connection: PostgresConnection, _ deadline: ContinuousClock.Instant) throws(StoreError) {
    try connection.perform("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", until: deadline)
    try connection.ask("SELECT bytes FROM \(schema).state WHERE id = 1", until: deadline)
  }

  /// Asks for the state and the record at `index` by one statement, which sees one state of the rows as a transaction does.
  ///
  /// - Returns: false where the state is not the one that is known: then more has to be read.
  private func readAtOnce(_ connection: PostgresConnection, _ index: [UInt8]) throws(StoreError) -> Bool {
    let deadline = session.deadline
    try index.span.bytes.withUnsafeBytes { (index) throws(StoreError) in
      try connection.ask(RecordQuery.recordWithState(schema), [.bytes(index)], until: deadline)
    }
    guard let answer = try connection.answers(doing: "read the vault", until: deadline).first else {
      throw damaged("the server left a question unanswered")
    }
    try answer.check([UInt32](repeating: PostgresResult.bytea, count: 4))
    guard let known, answer.count == 1, try answer.bytes(0, 0).elementsEqual(known) else { return false }
    var transaction = Transaction(connection: connection, isWriting: false, deadline: deadline, half: nil)
    transaction.isAnswered = true
    transaction.state = known
    transaction.ahead = RecordAhead(index: index, rows: answer, first: 1)
    self.transaction = transaction
    return true
  }

  /// Begins a transaction where one statement was not enough. It sees what that saw: the state changes with each commit.
  private func goOn(_ transaction: inout Transaction) throws(StoreError) {
    let (connection, deadline) = (transaction.connection, session.deadline)
    try beginSnapshot(connection, deadline)
    let answers: [PostgresResult]
    do throws(StoreError) { answers = try connection.answers(doing: "read the vault", until: deadline) } catch {
      connection.rollBack(until: deadline)
      throw error
    }
    transaction.isAnswered = false
    self.transaction = transaction
    try answers[0].check([PostgresResult.bytea])
    guard let state = transaction.state, answers[0].count == 1, try answers[0].bytes(0, 0).elementsEqual(state) else {
      // The engine reads everything anew then.
      throw StoreError(
        .tampered, "the vault changed while it was read", place: place.description, cure: "try again")
    }
  }

  private func commit(_ transaction: Transaction) throws(StoreError) {
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

  /// Has `body` write in the transaction that is under way, and commits it.
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
      // Where plain values are in it too, it stays.
      try connection.perform("DROP SCHEMA \(schema)", until: deadline)
      _ = try connection.answers(doing: "remove the vault's schema", until: deadline)
    } catch {}
  }

  func removeAllRows() throws(StoreError) {
    for table in PostgresSchema.names { try queue("DELETE FROM \(schema).\(table)") }
    transaction?.state = nil
  }

  // MARK: What others did

  func dataVersion() -> Int64 { version }

  func recheckSchema() {}

  func isInPlace() -> Bool { true }

  // MARK: Asking within a transaction

  /// Sends what is queued and this question, and waits for its answer.
  func asked(
    _ sql: String, _ parameters: [PostgresConnection.Parameter] = [], _ types: [UInt32]
  ) throws(StoreError) -> PostgresResult {
    if parameters.isEmpty, let answer = transaction?.answered[sql] {
      try answer.check(types)
      return answer
    }
    try current().connection.ask(sql, parameters, until: session.deadline)
    let answer = try lastAnswer()
    try answer.check(types)
    return answer
  }

  /// Sends what is queued, and waits for the answer to the last question. Records that were asked for ahead are put by.
  func lastAnswer() throws(StoreError) -> PostgresResult {
    let answers = try current().connection.answers(doing: "read the vault", until: session.deadline)
    guard let last = answers.last else {
      throw StoreError(
        .damaged, "the server left a question unanswered", place: place.description, cure: "check what stands there")
    }
    if transaction?.records?.isAsked ?? false { transaction?.records?.came(answers[0]) }
    return last
  }

  /// Queues a change, which fails with the transaction if it does.
  func queue(
    _ sql: String, _ parameters: [PostgresConnection.Parameter] = [], changesOne: Bool = false
  ) throws(StoreError) {
    let transaction = try current()
    guard transaction.isWriting else {
      throw StoreError(.readOnly, "a read changes nothing", place: place.description, cure: "write in a transaction that writes")
    }
    self.transaction?.answered = [:]
    try transaction.connection.perform(sql, parameters, changesOne: changesOne, until: session.deadline)
  }

  /// The transaction that is under way at the server.
  func current() throws(StoreError) -> Transaction {
    if var transaction {
      if transaction.isAnswered { try goOn(&transaction) }
      return transaction
    }
    throw StoreError(.closed, "no transaction is under way", place: place.description, cure: "begin one")
  }

  // MARK: Header, state and digests

  func lendHeader(_ copy: HeaderCopy, _ body: (UnsafeRawBufferPointer) throws(StoreError) -> Void) throws(StoreError) {
    let answer = try asked(question(copy), [], [PostgresResult.bytea])
    if answer.count > 0 { try body(answer.bytes(0, 0, RowLimits.headerBytes)) }
  }

  func putHeader(_ copy: HeaderCopy, _ bytes: UnsafeRawBufferPointer) throws(StoreError) {
    try put(copy == .first ? .header : .headerCopy, bytes)
  }

  private func question(_ copy: HeaderCopy) -> String {
    let table = copy == .first ? SingleTable.header : .headerCopy
    return "SELECT bytes FROM \(schema).\(table.rawValue) WHERE id = \(table.id)"
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
    transaction?.state = [UInt8](bytes)
    transaction?.hasPut = true
  }

  private func put(_ table: SingleTable, _ bytes: UnsafeRawBufferPointer) throws(StoreError) {
    try queue(
      """
      INSERT INTO \(schema).\(table.rawValue) (id, bytes) VALUES (\(table.id), $1)
        ON CONFLICT (id) DO UPDATE SET bytes = excluded.bytes
      """, [.bytes(bytes)])
  }

  func forEachDigest(_ body: (_ bucket: Int, _ hash: UnsafeRawBufferPointer) throws(StoreError) -> Void) throws(StoreError) {
    let answer = try asked(digestsQuestion, [], [PostgresResult.bigint, PostgresResult.bytea])
    var least: Int64 = 0
    for row in 0..<answer.count {
      let bucket = try answer.number(row, 0)
      guard bucket >= least, bucket < RowLimits.buckets else { throw damaged("the digests are not in order") }
      least = bucket + 1
      try body(Int(bucket), answer.bytes(row, 1, RowLimits.digestBytes...RowLimits.digestBytes))
    }
  }

  private var digestsQuestion: String {
    "SELECT bucket, hash FROM \(schema).digest ORDER BY bucket LIMIT \(RowLimits.buckets + 1)"
  }

  func putDigest(_ hash: UnsafeRawBufferPointer, bucket: Int) throws(StoreError) {
    try queue(
      """
      INSERT INTO \(schema).digest (bucket, hash) VALUES ($1, $2) ON CONFLICT (bucket) DO UPDATE SET hash = excluded.hash
      """, [.number(Int64(bucket)), .bytes(hash)])
  }

  func deleteDigest(bucket: Int) throws(StoreError) {
    try queue("DELETE FROM \(schema).digest WHERE bucket = $1", [.number(Int64(bucket))])
  }

  func damaged(_ what: String) -> StoreError {
    StoreError(.damaged, what, place: place.description, cure: "run verify, then restore a backup")
  }
}
