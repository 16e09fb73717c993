internal import CCofferSQLite
package import CofferPlatform

extension Connection {
  package enum Verb: Int, CaseIterable {
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

  /// Runs `body` on the state of the database at its first statement, isolated from later commits.
  func read<Result: ~Copyable>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
    try transaction(.begin, body) { () throws(StoreError) in try end() }
  }

  /// Runs `body` as the only writer. Its changes are durable on return. After an error nothing has changed, and nothing
  /// comes back later.
  package func write<Result: ~Copyable>(
    _ body: () throws(StoreError) -> Result, wasMade: () throws(StoreError) -> Bool?
  ) throws(StoreError) -> Result {
    try transaction(.beginWriting, body) { () throws(StoreError) in try commit(wasMade: wasMade) }
  }

  /// Ends a transaction that changed nothing, or whose failure needs no inquiry.
  func end() throws(StoreError) {
    let code = step(.commit)
    guard code != SQLITE_DONE else { return }
    let error = failure(code, Verb.commit.doing)
    rollBack()
    throw error
  }

  /// - Parameter wasMade: whether the file has the changes; nil if unknown. Called in its own transaction after a failed
  ///   commit.
  /// - Throws: ``/CofferPlatform/StoreError/Kind/outcomeUnknown`` if a commit failed and the file shows neither outcome.
  func commit(wasMade: () throws(StoreError) -> Bool?) throws(StoreError) {
    let code = step(.commit)
    guard code != SQLITE_DONE else { return }
    let error = failure(code, Verb.commit.doing)
    rollBack()
    try settle(commitThatFailed: code, error, wasMade)
  }

  /// Returns if the commit that failed with `code` is nevertheless durably in effect.
  ///
  /// If only a commit's sync failed, its frames may be in the write-ahead log, and the next recovery finds them valid. A
  /// small commit overwrites them and breaks their chain of checksums (sqlite.org/fileformat2.html, 4.1). With a rollback
  /// journal, its removal may not be durable; the small commit makes and removes its own.
  ///
  /// - Throws: `error` if nothing of the commit is left; `.outcomeUnknown` if the small commit fails too.
  func settle(
    commitThatFailed code: Int32, _ error: StoreError, _ wasMade: () throws(StoreError) -> Bool?
  ) throws(StoreError) {
    // Another process held the lock, and nothing was written.
    guard code & 0xff != SQLITE_BUSY else { throw error }
    let made: Bool?
    do throws(StoreError) { made = try overwrite(wasMade) } catch {
      // Without room for its last frame a commit has no mark.
      made = usesWriteAheadLog && code & 0xff == SQLITE_FULL ? false : nil
    }
    switch made {
    case true: return
    case false: throw error
    case nil:
      throw StoreError(
        .outcomeUnknown, "the disk failed while the change was made durable: it may or may not have been made", place: place,
        cure: "check the disk, then check what is stored before you try again", underlying: SQLiteFailure(code: code))
    }
  }

  private func overwrite(_ wasMade: () throws(StoreError) -> Bool?) throws(StoreError) -> Bool? {
    try transaction(.beginWriting) { () throws(StoreError) -> Bool? in
      let made = try wasMade()
      // SQLite writes this number's page even if it does not change.
      try execute("PRAGMA user_version=\(try number("PRAGMA user_version"))")
      return made
    } end: { () throws(StoreError) in
      try end()
    }
  }

  private func transaction<Result: ~Copyable>(
    _ verb: Verb, _ body: () throws(StoreError) -> Result, end: () throws(StoreError) -> Void
  ) throws(StoreError) -> Result {
    try begin(verb)
    let result: Result
    do { result = try body() } catch {
      rollBack()
      throw error
    }
    try end()
    return result
  }

  /// Writes the changed pages without the commit mark. A rollback undoes them.
  func flush() throws(StoreError) {
    try checkOpen()
    let code = sqlite3_db_cacheflush(handle)
    guard code == SQLITE_OK else { throw failure(code, "write ahead of the commit") }
  }

  func begin(_ verb: Verb) throws(StoreError) {
    try checkOpen()
    guard sqlite3_get_autocommit(handle) != 0 else {
      throw StoreError(
        .reentrant, "a transaction was begun inside another", place: place, cure: "use the open one")
    }
    // Without a write-ahead log SQLite looks for a journal to roll back at every transaction.
    if !usesWriteAheadLog { try SideFiles.check(beside: path, usesWriteAheadLog: false) }
    try perform(verb)
  }

  /// Does nothing if SQLite already rolled back, as after a full disk. On failure closes the connection, so no later call
  /// commits half a change.
  func rollBack() {
    guard isOpen, sqlite3_get_autocommit(handle) == 0 else { return }
    do throws(StoreError) { try perform(.rollback) } catch { close() }
  }
}
