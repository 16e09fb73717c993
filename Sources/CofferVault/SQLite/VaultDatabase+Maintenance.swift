internal import CCofferSQLite
internal import CofferStorage
internal import SystemPackage

extension VaultDatabase {
  /// Rewrites the file without the pages that deleted rows left, outside any transaction. Durable when it returns; what the
  /// write-ahead log still holds of them goes with ``emptyLog()``.
  func vacuum() throws(StoreError) {
    try connection.execute("VACUUM")
  }

  /// Copies the write-ahead log into the file and cuts it to nothing, outside any transaction.
  ///
  /// - Throws: ``StoreError/Kind/busy`` when another process was reading and the log could not be emptied.
  func emptyLog() throws(StoreError) {
    guard connection.usesWriteAheadLog else { return }
    guard try connection.number("PRAGMA wal_checkpoint(TRUNCATE)") == 0 else {
      throw StoreError(
        .busy, "the write-ahead log could not be emptied", place: connection.place,
        cure: "close other programs that use the vault and try again")
    }
  }

  /// Writes a copy of this moment's state to a new file at `target`, needing no key, and checks it by opening it.
  ///
  /// - Throws: ``StoreError`` `.alreadyExists`, `.denied`, `.noSpace`, `.busy`, `.io`; nothing is left behind then.
  func backUp(to target: FilePath) throws(StoreError) {
    let made = try NewDatabase(at: target).make(Connection.Options()) { copy throws(StoreError) in
      guard let backup = sqlite3_backup_init(copy.handle, "main", connection.handle, "main") else {
        throw copy.failure(sqlite3_extended_errcode(copy.handle), "begin the copy")
      }
      // All pages in one step: it holds one read transaction, so the copy is of one moment.
      let code = sqlite3_backup_step(backup, -1)
      let finish = sqlite3_backup_finish(backup)
      guard code == SQLITE_DONE, finish == SQLITE_OK else {
        throw copy.failure(code == SQLITE_DONE ? finish : code, "copy the vault")
      }
    }
    let copy = try VaultDatabase.open(made)
    copy.close()
  }
}
