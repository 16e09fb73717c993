internal import CofferPlatform
internal import CofferStorage

/// The exact text of a vault's tables, which SQLite keeps and opening a vault compares.
package enum Schema {
  /// The format that this version writes, kept as the file's `user_version`.
  static let version = 1

  package struct Table {
    let name: String
    let sql: String

    package init(_ name: String, _ rest: String) {
      self.name = name
      sql = "CREATE TABLE \(name) \(rest)"
    }
  }

  /// Rows are found by key alone, so no table has a separate index.
  static let tables = [
    Table("header", "(id INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT"),
    Table("header_copy", "(id INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT"),
    Table("state", "(id INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT"),
    Table("digest", "(bucket INTEGER PRIMARY KEY, hash BLOB NOT NULL) STRICT"),
    Table("rec", "(idx BLOB PRIMARY KEY, rid BLOB NOT NULL, meta BLOB NOT NULL, value BLOB) STRICT, WITHOUT ROWID"),
    Table("old", "(idx BLOB PRIMARY KEY, rid BLOB NOT NULL, meta BLOB NOT NULL, value BLOB) STRICT, WITHOUT ROWID"),
    Table("log", "(seq INTEGER PRIMARY KEY, box BLOB NOT NULL) STRICT"),
    Table("decided", "(txid BLOB PRIMARY KEY, outcome INTEGER NOT NULL, time INTEGER NOT NULL) STRICT, WITHOUT ROWID"),
  ]

  static func create(on connection: Connection) throws(StoreError) {
    for table in tables { try connection.execute(table.sql) }
    try connection.execute("PRAGMA application_id=\(DatabaseHeader.applicationID)")
    try connection.execute("PRAGMA user_version=\(version)")
  }
}

/// Compares a file's tables with ``Schema`` before any statement uses one. An attacker with write access can add a trigger, a
/// view or an index, or give two tables one tree, to change the effect of a harmless statement.
struct SchemaCheck {
  private let connection: Connection
  private var missing = Dictionary(uniqueKeysWithValues: Schema.tables.map { ($0.name, $0.sql) })
  private var roots: Set<Int64> = [1]

  /// Within a transaction. Returns SQLite's count of changes to the tables.
  ///
  /// - Throws: ``/CofferPlatform/StoreError`` `.notAVault`, `.newerFormat`, `.tampered` for an additional or different
  ///   table, `.damaged` for a missing one.
  static func run(on connection: Connection) throws(StoreError) -> Int64 {
    var check = SchemaCheck(connection)
    try check.checkVersion()
    try check.checkTables()
    return try connection.number("PRAGMA schema_version")
  }

  private init(_ connection: Connection) { self.connection = connection }

  private func checkVersion() throws(StoreError) {
    let place = connection.place
    guard try connection.number("PRAGMA application_id") == DatabaseHeader.applicationID else {
      throw StoreError(
        .notAVault, "the file is another program's SQLite database", place: place,
        cure: "give the path of a vault, or create one elsewhere")
    }
    let version = Int(try connection.number("PRAGMA user_version"))
    guard version <= Schema.version else {
      throw StoreError(
        .newerFormat(found: version, supported: Schema.version),
        "the vault has format \(version), and this version reads up to \(Schema.version)", place: place,
        cure: "update Coffer")
    }
    guard version > 0 else {
      throw StoreError(.damaged, "the vault has format \(version), which never was", place: place, cure: "restore a backup")
    }
    guard try connection.number("PRAGMA page_count") <= Int64(Limits.mostPages) else {
      throw StoreError(.damaged, "the file has more pages than any vault", place: place, cure: "restore a backup")
    }
  }

  private mutating func checkTables() throws(StoreError) {
    let rows = try Statement("SELECT type, name, tbl_name, rootpage, sql FROM sqlite_schema", on: connection)
    try rows.forEach { row throws(StoreError) in try check(row) }
    guard missing.isEmpty else {
      throw StoreError(
        .damaged, "the table \(missing.keys.sorted().joined(separator: ", ")) is missing", place: connection.place,
        cure: "restore a backup")
    }
  }

  /// The file's text never appears in a message: its author chose it.
  private mutating func check(_ row: borrowing Row) throws(StoreError) {
    guard try row.text(0) == "table" else { throw tampered("holds something else than tables") }
    let name = try row.text(1)
    guard let sql = missing.removeValue(forKey: name) else { throw tampered("holds a table that no vault has") }
    guard !row.isNull(4), try row.text(2) == name, try row.text(4) == sql else {
      throw tampered("defines the table \(name) in another way than a vault does")
    }
    guard roots.insert(try row.int64(3)).inserted else { throw tampered("gives two tables one place") }
  }

  private func tampered(_ what: String) -> StoreError {
    StoreError(
      .tampered, "the file \(what)", place: connection.place,
      cure: "do not write to it; restore a backup and find out who changed it")
  }
}
