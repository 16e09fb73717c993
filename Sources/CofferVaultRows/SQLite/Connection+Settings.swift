internal import CCofferSQLite
package import CofferPlatform

/// Switches that no vault needs. Source: sqlite.org/security.html, sqlite3_db_config.
private let switches: [(option: Int32, on: Int32)] = [
  (SQLITE_DBCONFIG_DEFENSIVE, 1),
  (SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0),
  (SQLITE_DBCONFIG_ENABLE_TRIGGER, 0),
  (SQLITE_DBCONFIG_ENABLE_VIEW, 0),
  (SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0),
  (SQLITE_DBCONFIG_DQS_DDL, 0),
  (SQLITE_DBCONFIG_DQS_DML, 0),
]

private let pragmas: [String] = [
  // A crafted page is then an error and not a wild read.
  "PRAGMA cell_size_check=ON",
  // A mapped file truncated during a read ends the process with SIGBUS.
  "PRAGMA mmap_size=0",
  // Deleted rows are overwritten: an old sealed value opens under an old key.
  "PRAGMA secure_delete=ON",
  // No temporary files outside the vault's own folder.
  "PRAGMA temp_store=MEMORY",
  // At most 16 MiB. With SQLite's own 2 MiB, list and verify of 10 000 items take 1.8× as long, measured.
  "PRAGMA cache_size=-16384",
  // On macOS fsync does not reach the disk; elsewhere these do nothing.
  "PRAGMA fullfsync=ON",
  "PRAGMA checkpoint_fullfsync=ON",
]

extension Connection {
  /// Before SQLite reads the file.
  func harden() throws(StoreError) {
    for (option, on) in switches {
      var now: Int32 = -1
      let code = coffer_sqlite3_db_config_switch(handle, option, on, &now)
      guard code == SQLITE_OK, now == on else { throw failure(code, "set SQLite's switch \(option)") }
    }
    for (limit, value) in Limits.all { sqlite3_limit(handle, limit, value) }
    waitAsUsual()
    // Before the first read, so the log's index is kept in memory from then on (sqlite.org/wal.html, 8).
    if options.isAlone { try execute("PRAGMA locking_mode=EXCLUSIVE") }
    for pragma in pragmas { try execute(pragma) }
  }

  /// Makes commits survive a power loss: FULL synchronizes the log at each commit, EXTRA also the folder of a deleted
  /// rollback journal (sqlite.org/pragma.html).
  func settleDurability() throws(StoreError) {
    usesWriteAheadLog = try text("PRAGMA journal_mode") == "wal"
    try execute(usesWriteAheadLog ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=EXTRA")
    // SQLite silently opens an unwritable file as read only.
    guard options.access == .readOnly || sqlite3_db_readonly(handle, "main") == 0 else {
      throw ReadOnlyMedium.cannotWrite(path)
    }
    try execute("PRAGMA max_page_count=\(Limits.mostPages)")
  }

  /// Called outside any transaction, when nobody else has the file open.
  package func leaveWriteAheadLog() throws(StoreError) {
    guard usesWriteAheadLog else { return }
    try execute("PRAGMA journal_mode=DELETE")
    try settleDurability()
    guard !usesWriteAheadLog else { throw failure(SQLITE_BUSY, "leave the write-ahead log") }
  }

  func execute(_ sql: String) throws(StoreError) {
    try checkOpen()
    limit.begin()
    let code = sqlite3_exec(handle, sql, nil, nil, nil)
    guard code == SQLITE_OK else { throw failure(code, "run a statement") }
  }

  func number(_ sql: String) throws(StoreError) -> Int64 {
    let statement = try Statement(sql, on: self)
    guard let number = try statement.first({ row throws(StoreError) in try row.int64(0) }) else {
      throw failure(SQLITE_CORRUPT, "read a setting of the file")
    }
    return number
  }

  func text(_ sql: String) throws(StoreError) -> String {
    let statement = try Statement(sql, on: self)
    guard let text = try statement.first({ row throws(StoreError) in try row.text(0) }) else {
      throw failure(SQLITE_CORRUPT, "read a setting of the file")
    }
    return text
  }
}

/// Bounds the work that a foreign file can cause, far below SQLite's own limits (sqlite.org/limits.html,
/// sqlite.org/security.html).
enum Limits {
  /// ``PageCheck`` bounds the lengths that SQLite does not compare with `SQLITE_LIMIT_LENGTH`.
  static let rowBytes = RowLimits.rowBytes

  static let mostPages = DatabaseHeader.mostPages

  static let all: [(Int32, Int32)] = [
    (SQLITE_LIMIT_LENGTH, Int32(rowBytes)),
    // The longest statement is a table definition of some 120 bytes.
    (SQLITE_LIMIT_SQL_LENGTH, 4096),
    (SQLITE_LIMIT_COLUMN, 16),
    (SQLITE_LIMIT_EXPR_DEPTH, 10),
    (SQLITE_LIMIT_COMPOUND_SELECT, 3),
    (SQLITE_LIMIT_VDBE_OP, 25_000),
    (SQLITE_LIMIT_FUNCTION_ARG, 8),
    // VACUUM attaches the database that it writes.
    (SQLITE_LIMIT_ATTACHED, 1),
    (SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 50),
    (SQLITE_LIMIT_VARIABLE_NUMBER, 8),
    (SQLITE_LIMIT_TRIGGER_DEPTH, 1),
    (SQLITE_LIMIT_WORKER_THREADS, 0),
  ]
}
