internal import CCofferSQLite
package import CofferPlatform
package import SystemPackage

extension VaultDatabase {
  /// Outside any transaction. ``emptyLog()`` removes the remains in the write-ahead log.
  func vacuum() throws(StoreError) {
    try connection.execute("VACUUM")
  }

  /// Copies the write-ahead log into the file and truncates it, outside any transaction.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/busy`` if another process was reading.
  package func emptyLog() throws(StoreError) {
    // A restore or another program may have changed the journal mode.
    try connection.settleDurability()
    guard connection.usesWriteAheadLog else { return }
    guard try connection.number("PRAGMA wal_checkpoint(TRUNCATE)") == 0 else {
      throw StoreError(
        .busy, "the write-ahead log could not be emptied", place: connection.place,
        cure: "close other programs that use the vault and try again")
    }
  }

  /// Copies the current state to a new file at `target`, without a key, and checks it by opening it. After an error nothing
  /// is left behind.
  ///
  /// - Parameter progress: receives the number of copied pages and the total after each step.
  package func backUp(to target: FilePath, progress: (Int, Int) -> Void) throws(StoreError) {
    let made = try NewDatabase(at: target).make(Connection.Options()) { copy throws(StoreError) in
      // One read transaction, so no writer restarts the copy.
      try read { () throws(StoreError) in try copyPages(to: copy, progress) }
    }
    let copy = try VaultDatabase.open(made)
    copy.close()
  }

  package func keepCopy() throws(StoreError) -> VaultPlace {
    let kept = try KeptName.beside(path)
    try backUp(to: kept) { _, _ in }
    return .file(kept)
  }

  private func copyPages(to copy: Connection, _ progress: (Int, Int) -> Void) throws(StoreError) {
    guard let backup = sqlite3_backup_init(copy.handle, "main", connection.handle, "main") else {
      throw copy.failure(sqlite3_extended_errcode(copy.handle), "begin the copy")
    }
    // A damaged file can be copied too. Its pages must not stay in the cache as if they were sound.
    connection.files.readsPagesUnchecked(true)
    defer {
      connection.files.readsPagesUnchecked(false)
      sqlite3_db_release_memory(connection.handle)
    }
    var code = SQLITE_OK
    while code == SQLITE_OK {
      code = sqlite3_backup_step(backup, pagesOfStep)
      let total = Int(sqlite3_backup_pagecount(backup))
      progress(total - Int(sqlite3_backup_remaining(backup)), total)
    }
    let finish = sqlite3_backup_finish(backup)
    guard code == SQLITE_DONE, finish == SQLITE_OK else {
      throw copy.failure(code == SQLITE_DONE ? finish : code, "copy the vault")
    }
  }

  // MARK: Rotation

  /// Rewriting touches every page in random order and gets a cache of 64 MiB instead of 2: with 2, a rotation of 10 000
  /// records makes 28 000 writes, measured. Scanning in file order gets 1 MiB.
  package func during(_ work: RowsWork, _ body: () throws(StoreError) -> Void) throws(StoreError) {
    try withCache(kibibytes: work == .rewriting ? 65_536 : 1024, body)
  }

  private func withCache(kibibytes: Int, _ body: () throws(StoreError) -> Void) throws(StoreError) {
    let usual = try connection.number("PRAGMA cache_size")
    try connection.execute("PRAGMA cache_size=-\(kibibytes)")
    defer {
      // SQLite reads the schema for this, which may fail. An error would deny the changes of `body`, which hold.
      do throws(StoreError) { try connection.execute("PRAGMA cache_size=\(usual)") } catch {}
    }
    return try body()
  }

  package var canRemoveOldBytes: Bool { true }
  package var isRemote: Bool { false }
  /// ``Connection/settle(commitThatFailed:_:_:)`` has asked the file.
  package var hasLostCommit: Bool { false }

  /// The size includes the write-ahead log.
  package func storedBytes() throws(StoreError) -> Int64 {
    try connection.number("PRAGMA page_count") * connection.number("PRAGMA page_size")
  }

  /// SQLite's messages contain the file's own numbers and are not repeated.
  package func checkStorage(_ what: String) throws(StoreError) {
    guard try connection.text("PRAGMA quick_check(1)") != "ok" else { return }
    throw StoreError(
      .damaged, what, place: path.string, cure: "copy the items to a new vault with UnlockedVault.export, or restore a backup",
      remedy: .copyItems)
  }

  /// Removes all bytes of deleted rows from the file and its log, outside any transaction.
  ///
  /// SQLite overwrites a deleted row in place (`secure_delete`), but not the copies left on other pages when it moved the
  /// row: of 4 000 removed rows two or three stayed, measured. Only rewriting removes these.
  ///
  /// - Parameter rewriting: false to only empty the log.
  /// - Throws: ``/CofferPlatform/StoreError/Kind/busy`` if another process keeps reading or writing; nothing is lost.
  package func removeOldBytes(rewriting: Bool) throws(StoreError) {
    sqlite3_busy_timeout(connection.handle, scrubPatience)
    defer { connection.waitAsUsual() }
    if rewriting { try vacuum() }
    try emptyLog()
  }
}

/// 4 MiB, some milliseconds.
private let pagesOfStep: Int32 = 1024

/// Milliseconds to wait for readers before leaving old bytes to a later write: listing a large vault takes less.
private let scrubPatience: Int32 = 2_000
