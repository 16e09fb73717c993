internal import CofferPlatform
internal import CofferVaultFormat
internal import CofferVaultRows

/// The queue of a server's vault. Its rows need not survive a crash: their writers still wait, and look.
///
/// Source: PostgreSQL, "SELECT, The Locking Clause", "NOTIFY", "Asynchronous Commit".
struct PostgresIntents: IntentRows {
  let rows: PostgresRows

  /// Commits that one writer takes, of which each can have ``Intent/largest`` bytes.
  private static let batch = 64
  /// Writers beyond these wait without a place in the queue.
  private static let most = 256

  var isBusy: Bool { rows.queueing.isBusy }
  var patience: Duration { rows.session.patience }

  func beginWriting(of id: CommitID?, queueing box: [UInt8]?) throws(StoreError) -> Bool {
    if box != nil { rows.queueing.isListening = true }
    let hasTurn = try rows.beginWriting(.init(id: id, box: box))
    rows.queueing.isBusy = !hasTurn || rows.transaction?.intents?.count ?? 0 > (rows.queueing.isListening ? 1 : 0)
    return hasTurn
  }

  func queued() throws(StoreError) -> [(id: CommitID, box: [UInt8])] {
    guard let found = rows.transaction?.intents else { return [] }
    try found.check([PostgresResult.bytea, PostgresResult.bytea])
    var queued: [(CommitID, [UInt8])] = []
    for row in 0..<min(found.count, Self.batch) {
      let (id, box) = (try found.bytes(row, 0), try found.bytes(row, 1))
      if let id = CommitID(id), box.count <= Intent.largest { queued.append((id, [UInt8](box))) }
    }
    if queued.count < min(found.count, Self.batch) {
      // Rows that no writer made would keep their places in each batch.
      try rows.queue(
        "DELETE FROM \(rows.schema).intents WHERE octet_length(id) <> 16 OR octet_length(box) > \(Intent.largest)")
    }
    return queued
  }

  func remove(_ ids: [CommitID]) throws(StoreError) {
    for id in ids {
      try id.withBytes { (id) throws(StoreError) in
        try rows.queue("DELETE FROM \(rows.schema).intents WHERE id = $1", [.bytes(id)])
      }
    }
  }

  func mark() throws(StoreError) { try rows.queue("SAVEPOINT mark") }

  func withdraw(_ id: CommitID) throws(StoreError) {
    try rows.queue("ROLLBACK TO SAVEPOINT mark")
    try remove([id])
  }

  func beginDraft() throws(StoreError) {
    rows.queueing.draft = []
    do throws(StoreError) { try rows.beginReading() } catch {
      rows.queueing.draft = nil
      throw error
    }
  }

  func endDraft() throws(StoreError) -> [Intent.Write] {
    defer { rows.queueing.draft = nil }
    try rows.endReading()
    return rows.queueing.draft ?? []
  }

  func wait(_ time: Duration) throws(StoreError) -> Bool {
    let (connection, end) = (try rows.session.open(), ContinuousClock.now + time)
    // Other answers end a wait, too.
    while try !connection.waitForNotice(nil, for: max(.zero, end - .now)) {}
    return .now < end
  }

  func confirm() throws(StoreError) {
    // Asked with the rows that show the commit.
    guard rows.queueing.isReplicated else { return }
    let (connection, session) = (try rows.session.open(), rows.session)
    try connection.perform("BEGIN", until: session.deadline)
    do throws(StoreError) {
      // A transaction waits for the standby if it wrote to the server's log: a number alone is not enough.
      try connection.commit(at: session.shown, until: session.deadline) { () throws(StoreError) in
        try connection.perform("SELECT pg_logical_emit_message(true, 'coffer', '')", until: session.deadline)
      }
    } catch { throw connection.isLost ? error.underlying as? StoreError ?? error : error }
  }

  func stop() {
    guard rows.queueing.isListening else { return }
    rows.queueing.isListening = false
    // The notices of a connection that nobody reads would pile up at the server. One that is lost gets none.
    do throws(StoreError) {
      let (connection, deadline) = (try rows.session.open(), rows.session.deadline)
      try connection.perform("UNLISTEN *", until: deadline)
      try connection.send(until: deadline)
    } catch {}
  }

  static func put(
    _ id: CommitID, _ box: [UInt8], _ connection: PostgresConnection, _ session: PostgresSession
  ) throws(StoreError) {
    let (schema, deadline) = (session.place.schema, session.deadline)
    try connection.perform("BEGIN", until: deadline)
    try connection.perform("LISTEN \(schema)", until: deadline)
    try id.withBytes { (id) throws(StoreError) in
      try box.span.bytes.withUnsafeBytes { (box) throws(StoreError) in
        try connection.perform(
          """
          INSERT INTO \(schema).intents (id, box)
            SELECT $1, $2 WHERE set_config('synchronous_commit', 'off', true) = 'off'
              AND (SELECT count(*) FROM (SELECT 1 FROM \(schema).intents LIMIT \(most)) queued) < \(most)
            ON CONFLICT (id) DO NOTHING
          """, [.bytes(id), .bytes(box)], until: deadline)
      }
    }
    try connection.perform("COMMIT", until: deadline)
  }

  static func question(_ schema: String) -> String {
    "SELECT \(PostgresSchema.cut("id", 16)), \(PostgresSchema.cut("box", Intent.largest)) FROM \(schema).intents ORDER BY id "
      + "LIMIT \(batch)"
  }
}

extension PostgresRows {
  struct Queueing {
    /// The changes of a draft.
    var draft: [Intent.Write]?
    /// Whether another writer was at work when the last write wanted to begin.
    var isBusy = false
    /// Whether the server sends notices of commits.
    var isListening = false
    /// Whether a commit waits for a standby, as of the last read of others' commits.
    var isReplicated = true

    mutating func note(
      _ index: UnsafeRawBufferPointer, _ table: RecordTable, _ record: borrowing RecordColumns, over standing: RecordPlace
    ) {
      guard let index = RecordIndex(index), let id = RecordID(record.rid) else { Self.isShort() }
      let sealed = SealedRecord(index: index, id: id, meta: Array(record.meta), value: record.value.map { Array($0) })
      switch standing {
      case .free: draft?.append(.put(sealed, table, replacing: false))
      case .taken: draft?.append(.put(sealed, table, replacing: true))
      case .moved(let former):
        guard let former = RecordIndex(former) else { Self.isShort() }
        draft?.append(.move(sealed, table, from: former))
      }
    }

    mutating func noteRemoval(_ index: UnsafeRawBufferPointer, _ table: RecordTable) {
      guard let index = RecordIndex(index) else { Self.isShort() }
      draft?.append(.delete(index, table))
    }

    /// A change that was not noted would be lost, and the callers have typed indices.
    private static func isShort() -> Never { preconditionFailure("indices and ids of records have 16 bytes") }
  }
}
