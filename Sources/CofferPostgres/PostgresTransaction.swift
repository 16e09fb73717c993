internal import CofferPlatform
internal import CofferVaultFormat
internal import CofferVaultRows

/// A transaction over a vault's rows, with those read at its beginning.
///
/// Source: PostgreSQL, "Transaction Isolation", "Explicit Locking".
final class PostgresTransaction {
  /// The questions at its beginning, besides that for the state.
  enum Beginning {
    case item(Item)
    case others(LogPart)
    case header
    case digests
  }

  /// Log rows with others' changes.
  typealias LogPart = (first: Int64, most: Int)

  /// How to begin to write only if nobody else does.
  struct Turn {
    /// The queued intent, if any, and its box to queue it before.
    let id: CommitID?, box: [UInt8]?
  }

  struct Item {
    let index: [UInt8]
    let needsList: Bool
    let log: LogPart
  }

  let connection: PostgresConnection
  let isWriting: Bool
  /// A plain store's writes in the same database.
  let half: PlainHalf?
  private let session: PostgresSession
  private var schema: String { session.place.schema }
  /// Whether it was one answered statement: no transaction is open at the server.
  private(set) var isAnswered = false
  private(set) var state: [UInt8]?
  /// The last state seen before.
  private let known: [UInt8]?
  private(set) var hasPut = false
  /// Lists and records read ahead.
  var lists: [RecordTable: ListScan] = [:]
  var records: RecordScan?
  var ahead: RecordAhead?
  /// The header, all digests, and some log rows from a number on, until a change.
  private(set) var header: PostgresResult?
  private(set) var digests: PostgresResult?
  private(set) var log: (first: Int64, most: Int, rows: PostgresResult)?
  private(set) var intents: PostgresResult?
  /// Whether commits wait for a standby. Asked by a read of others' commits.
  private(set) var isReplicated = true

  init(
    _ connection: PostgresConnection, _ session: PostgresSession, known: [UInt8]? = nil, isWriting: Bool = true,
    half: PlainHalf? = nil
  ) {
    self.connection = connection
    self.known = known
    self.session = session
    self.isWriting = isWriting
    self.half = half
  }

  /// Begins to write, with the state locked.
  ///
  /// - Parameter followsOthers: whether to read the rows that show others' commits.
  static func writing(
    _ connection: PostgresConnection, _ session: PostgresSession, _ beginning: Beginning?, known: [UInt8]?,
    followsOthers: Bool, half: PlainHalf?, _ turn: Turn? = nil
  ) throws(StoreError) -> PostgresTransaction {
    let transaction = PostgresTransaction(connection, session, known: known, half: half)
    if let id = turn?.id, let box = turn?.box { try PostgresIntents.put(id, box, connection, session) }
    try connection.perform("BEGIN ISOLATION LEVEL READ COMMITTED", until: session.deadline)
    // Everywhere the plain store's lock comes before the vault's.
    try half?.begin(connection, session)
    // Alone and first: joined rows would be from before the wait for the lock.
    let schema = session.place.schema
    let question = "SELECT \(SingleTable.state.bytes), \(PostgresSchema.isAsynchronous) FROM \(schema).state WHERE id = 1"
    if let turn {
      // A writer whose commit was made needs none.
      let isQueued = turn.id == nil ? "" : " AND EXISTS (SELECT 1 FROM \(schema).intents WHERE id = $1)"
      try (turn.id ?? .zero).withBytes { (id) throws(StoreError) in
        try connection.ask(
          "\(question)\(isQueued) LIMIT 1 FOR UPDATE SKIP LOCKED", turn.id == nil ? [] : [.bytes(id)], until: session.deadline)
      }
      try connection.ask(PostgresIntents.question(schema), until: session.deadline)
    } else {
      try connection.ask("\(question) LIMIT 1 FOR UPDATE", until: session.deadline)
    }
    try transaction.begin(beginning, followsOthers: followsOthers, readsQueue: turn != nil)
    return transaction
  }

  /// Begins to read: by one statement for a single record, if `known` is the state.
  static func reading(
    _ connection: PostgresConnection, _ session: PostgresSession, _ beginning: Beginning?, known: [UInt8]?,
    isDraft: Bool = false
  ) throws(StoreError) -> PostgresTransaction {
    let transaction = PostgresTransaction(connection, session, known: known, isWriting: false)
    if case .item(let item) = beginning, !item.needsList, let known {
      if try transaction.readAtOnce(item.index, known, ofAnyState: isDraft) { return transaction }
    }
    try transaction.beginSnapshot()
    try transaction.begin(beginning, followsOthers: true)
    return transaction
  }

  private func beginSnapshot() throws(StoreError) {
    try connection.perform("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", until: session.deadline)
    try connection.ask(SingleTable.state.question(schema), until: session.deadline)
  }

  /// Sends the first questions, and takes the answers.
  private func begin(_ beginning: Beginning?, followsOthers: Bool, readsQueue: Bool = false) throws(StoreError) {
    do throws(StoreError) {
      if let beginning { try ask(beginning, followsOthers) }
      var answers = try connection.answers(doing: isWriting ? "begin to write" : "read the vault", until: session.deadline)[...]
      try takeState(answers.removeFirst())
      if readsQueue { intents = answers.removeFirst() }
      if let beginning { try take(&answers, beginning, followsOthers) }
    } catch {
      connection.rollBack(until: session.deadline)
      throw error
    }
  }

  /// What shows others' commits, if there is a state to compare with.
  private func others(_ beginning: Beginning, _ followsOthers: Bool) -> (known: [UInt8], log: LogPart)? {
    switch (beginning, known) {
    case (.others(let log), let known?): (known, log)
    case (.item(let item), let known?) where followsOthers: (known, item.log)
    default: nil
    }
  }

  private func ask(_ beginning: Beginning, _ followsOthers: Bool) throws(StoreError) {
    let deadline = session.deadline
    if let (known, log) = others(beginning, followsOthers) {
      try known.span.bytes.withUnsafeBytes { (known) throws(StoreError) in
        try connection.ask(SingleTable.changedHeader(schema), [.bytes(known)], until: deadline)
      }
      try connection.ask(PostgresLog.question(schema), [.number(log.first), .number(Int64(log.most))], until: deadline)
    }
    switch beginning {
    case .others where !isWriting: try connection.ask(PostgresSchema.isReplicated, until: deadline)
    case .header: try connection.ask(SingleTable.header.question(schema), until: deadline)
    case .digests: try connection.ask(PostgresRows.digests(schema), until: deadline)
    case .others: break
    case .item(let item):
      if item.needsList || followsOthers {
        try RecordQuery.askForList(schema, bucketWith: item.index, connection, deadline)
      }
      try item.index.span.bytes.withUnsafeBytes { (index) throws(StoreError) in
        try connection.ask(RecordQuery.record(schema, .present, .all), [.bytes(index)], until: deadline)
      }
    }
  }

  private func take(
    _ answers: inout ArraySlice<PostgresResult>, _ beginning: Beginning, _ followsOthers: Bool
  ) throws(StoreError) {
    if let (known, log) = others(beginning, followsOthers) {
      let changed = answers.removeFirst()
      if state != known { header = changed }
      self.log = (log.first, log.most, answers.removeFirst())
    }
    switch beginning {
    case .others where !isWriting: isReplicated = try answers.removeFirst().number(0, 0) != 0
    case .header: header = answers.removeFirst()
    case .digests: digests = answers.removeFirst()
    case .others: break
    case .item(let item):
      if item.needsList || followsOthers {
        lists[.present] = try ListScan(answers.removeFirst(), bucketWith: item.index, session.shown)
      }
      ahead = RecordAhead(index: item.index, rows: answers.removeFirst(), first: 0)
    }
  }

  private func takeState(_ answer: PostgresResult) throws(StoreError) {
    try answer.check(isWriting ? [PostgresResult.bytea, PostgresResult.bigint] : [PostgresResult.bytea])
    guard answer.count > 0 else { return }
    state = [UInt8](try answer.bytes(0, 0, RowLimits.stateBytes))
    if isWriting { try session.checkDurability(answer.number(0, 1)) }
  }

  /// Reads the state and a record by one statement, which sees one snapshot as a transaction does.
  ///
  /// - Returns: false if the state is not the known one: more has to be read.
  private func readAtOnce(_ index: [UInt8], _ known: [UInt8], ofAnyState: Bool) throws(StoreError) -> Bool {
    try index.span.bytes.withUnsafeBytes { (index) throws(StoreError) in
      try connection.ask(RecordQuery.recordWithState(schema), [.bytes(index)], until: session.deadline)
    }
    let answer = try connection.answers(doing: "read the vault", until: session.deadline)[0]
    try answer.check([UInt32](repeating: PostgresResult.bytea, count: 4))
    guard answer.count == 1 else { return false }
    let found = try answer.bytes(0, 0)
    guard ofAnyState || found.elementsEqual(known) else { return false }
    (isAnswered, state, ahead) = (true, known, RecordAhead(index: index, rows: answer, first: 1))
    return true
  }

  /// Begins a transaction after a statement was not enough. It sees the same rows: each commit changes the state.
  func goOn() throws(StoreError) {
    guard isAnswered else { return }
    let known = state
    try beginSnapshot()
    isAnswered = false
    try takeState(connection.answers(doing: "read the vault", until: session.deadline)[0])
    // The engine then reads everything again.
    guard state == known else {
      throw StoreError(
        .tampered, "the vault changed while it was read", place: session.shown.description, cure: "try again")
    }
  }

  /// Waits for the next answer to a queue that was sent.
  func nextAnswer() throws(StoreError) -> PostgresResult {
    try connection.nextAnswer(doing: "read the vault", until: session.deadline)
  }

  /// Sends the queue, and waits for the last answer. Keeps a batch of records that was requested before.
  func lastAnswer() throws(StoreError) -> PostgresResult {
    for _ in 0..<(records?.pending ?? 0) { records?.putAside(try nextAnswer()) }
    let answers = try connection.answers(doing: "read the vault", until: session.deadline)
    guard let last = answers.last else {
      throw StoreError(
        .damaged, "the server did not answer a query", place: session.shown.description, cure: "check what is there")
    }
    return last
  }

  /// Ends a read.
  func end() throws(StoreError) {
    if !isAnswered { try connection.endReading(until: session.deadline) }
  }

  func rollBack() {
    if !isAnswered { connection.rollBack(until: session.deadline) }
  }

  /// Discards rows read before a change.
  func willChange() { (header, digests, log) = (nil, nil, nil) }

  /// Records the new state, or nil after its removal.
  func put(_ state: [UInt8]?) { (self.state, hasPut) = (state, state != nil) }
}
