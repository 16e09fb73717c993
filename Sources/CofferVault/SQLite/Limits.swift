internal import CCofferSQLite

/// What SQLite may be made to do by a file that someone else wrote. SQLite's own defaults are far greater
/// (sqlite.org/limits.html; the advice is that of sqlite.org/security.html).
enum Limits {
  /// Bytes in one row, and in one column of it. The longest row is a record with a value of 2 MiB, padded by an eighth at most, and a
  /// description of 64 KiB; a forged length costs no more than this: ``PageCheck`` holds the lengths that SQLite does not compare with
  /// `SQLITE_LIMIT_LENGTH`.
  static let rowBytes = 4 * 1024 * 1024

  /// Pages of a file, at most: 64 GiB at 4 096 bytes each. Up to here no page but a tree's begins as one: see ``PageCheck``.
  static let mostPages = (1 << 24) - 1

  static let all: [(Int32, Int32)] = [
    (SQLITE_LIMIT_LENGTH, Int32(rowBytes)),
    // The longest statement is a table definition of some 120 bytes.
    (SQLITE_LIMIT_SQL_LENGTH, 4096),
    (SQLITE_LIMIT_COLUMN, 16),
    (SQLITE_LIMIT_EXPR_DEPTH, 10),
    (SQLITE_LIMIT_COMPOUND_SELECT, 3),
    (SQLITE_LIMIT_VDBE_OP, 25_000),
    (SQLITE_LIMIT_FUNCTION_ARG, 8),
    // VACUUM attaches the database that it writes; nothing else does.
    (SQLITE_LIMIT_ATTACHED, 1),
    (SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 50),
    (SQLITE_LIMIT_VARIABLE_NUMBER, 8),
    (SQLITE_LIMIT_TRIGGER_DEPTH, 1),
    (SQLITE_LIMIT_WORKER_THREADS, 0),
  ]
}
