internal import CofferPlatform
internal import CofferStorage

/// The tables of a vault, to the letter: SQLite keeps the text that made a table, and opening a vault compares it.
enum Schema {
  /// "PVLT", the application id in bytes 68 to 71 of the file.
  static let applicationID: Int32 = 0x5056_4C54
  /// The format that this version writes, kept as the file's `user_version`.
  static let version = 1

  /// A table and the statement that makes it.
  struct Table {
    let name: String
    let sql: String

    init(_ name: String, _ rest: String) {
      self.name = name
      sql = "CREATE TABLE \(name) \(rest)"
    }
  }

  /// Rows are found by key alone, and no table has an index beside its own tree.
  static let tables = [
    Table("header", "(id INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT"),
    Table("header_copy", "(id INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT"),
    Table("state", "(id INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT"),
    Table("digest", "(bucket INTEGER PRIMARY KEY, hash BLOB NOT NULL) STRICT"),
    Table("rec", "(idx BLOB PRIMARY KEY, rid BLOB NOT NULL, meta BLOB NOT NULL, value BLOB) STRICT, WITHOUT ROWID"),
    Table("log", "(seq INTEGER PRIMARY KEY, box BLOB NOT NULL) STRICT"),
    Table("decided", "(txid BLOB PRIMARY KEY, outcome INTEGER NOT NULL, time INTEGER NOT NULL) STRICT, WITHOUT ROWID"),
  ]

  /// Makes the tables in an empty database, within a transaction of the caller's.
  static func create(on connection: Connection) throws(StoreError) {
    for table in tables { try connection.execute(table.sql) }
    try connection.execute("PRAGMA application_id=\(applicationID)")
    try connection.execute("PRAGMA user_version=\(version)")
  }
}
