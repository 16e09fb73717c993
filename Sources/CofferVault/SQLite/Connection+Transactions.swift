internal import CCofferSQLite
internal import CofferStorage

extension Connection {
  /// The statements that every connection keeps prepared.
  enum Verb: Int, CaseIterable {
    case begin, beginWriting, commit, rollback, dataVersion

    var sql: String {
      switch self {
      case .begin: "BEGIN DEFERRED"
      case .beginWriting: "BEGIN IMMEDIATE"
      case .commit: "COMMIT"
      case .rollback: "ROLLBACK"
      case .dataVersion: "PRAGMA data_version"
      }
    }

    var doing: String {
      switch self {
      case .begin: "begin a read"
      case .beginWriting: "begin a write"
      case .commit: "commit"
      case .rollback: "roll back"
      case .dataVersion: "ask whether the file changed"
      }
    }
  }

  /// Runs `body` on one state of the database, whatever others commit meanwhile. The state is that of its first statement.
  func read<Result: ~Copyable>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
    try transaction(.begin, body)
  }

  /// Runs `body` as the only writer of the database. What it changed is durable once this returns; when it throws, nothing was
  /// changed.
  ///
  /// - Throws: what `body` throws; ``StoreError`` `.busy` when another process kept the lock for too long, `.noSpace`, `.readOnly`, `.io`.
  func write<Result: ~Copyable>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
    try transaction(.beginWriting, body)
  }

  private func transaction<Result: ~Copyable>(
    _ begin: Verb, _ body: () throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    try checkOpen()
    guard sqlite3_get_autocommit(handle) != 0 else {
      throw StoreError(
        .reentrant, "a transaction was begun inside another", place: place, cure: "use the one that is under way")
    }
    // Without a write-ahead log SQLite looks for a journal to roll back at every transaction, not only at the first.
    if !usesWriteAheadLog { try SideFiles.check(beside: path, usesWriteAheadLog: false) }
    try perform(begin)
    do throws(StoreError) {
      let result = try body()
      try perform(.commit)
      return result
    } catch {
      rollBack()
      throw error
    }
  }

  /// Ends a transaction that failed; after some errors (a full disk, no memory) SQLite has done so itself. When even that fails,
  /// the connection is closed: what is half done must never be committed by a later call.
  private func rollBack() {
    guard isOpen, sqlite3_get_autocommit(handle) == 0 else { return }
    do throws(StoreError) { try perform(.rollback) } catch { close() }
  }
}
