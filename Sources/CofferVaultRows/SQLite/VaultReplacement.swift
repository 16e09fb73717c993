internal import CCofferSQLite
package import CofferPlatform

/// Replaces all of a vault's content in one SQLite transaction, which other processes see as a commit. After a rename they
/// would write to an unnamed file, and the last to close would remove the new file's write-ahead log.
package final class VaultReplacement {
  private var backup: OpaquePointer?
  private let target: VaultDatabase
  private let source: VaultDatabase

  /// Begins the replacement, which blocks other writers of `target`.
  package init(of target: VaultDatabase, by source: VaultDatabase) throws(StoreError) {
    let connection = target.connection
    guard let backup = sqlite3_backup_init(connection.handle, "main", source.connection.handle, "main") else {
      throw connection.failure(sqlite3_extended_errcode(connection.handle), "begin to replace the vault")
    }
    self.backup = backup
    self.target = target
    self.source = source
    // The current content is overwritten, unread.
    connection.files.readsPagesUnchecked(true)
    // A step of no pages takes the target's lock and copies nothing.
    let code = sqlite3_backup_step(backup, 0)
    guard code == SQLITE_OK else { throw connection.failure(code, "replace the vault") }
  }

  /// SQLite commits with the last page.
  ///
  /// - Throws: ``/CofferPlatform/StoreError``; only `.outcomeUnknown` may leave a change.
  package func commit() throws(StoreError) {
    // Once the step failed, nothing may come between it and the replacing commit.
    let state = try source.read { () throws(StoreError) in try source.stateBytes() }
    let code = sqlite3_backup_step(backup, -1)
    guard code != SQLITE_DONE else { return }
    let error = target.connection.failure(code, "replace the vault")
    finish()
    try target.connection.settle(commitThatFailed: code, error) { () throws(StoreError) in
      if try target.stateBytes() == state { return true }
      return target.connection.usesWriteAheadLog ? false : nil
    }
  }

  private func finish() {
    guard let backup else { return }
    sqlite3_backup_finish(backup)
    self.backup = nil
    target.connection.files.readsPagesUnchecked(false)
  }

  deinit { finish() }
}
