internal import CCofferSQLite
internal import CofferPlatform
internal import CofferStorage
internal import SystemPackage

/// The row that a statement stands on. It cannot be kept: what it lends is gone with the next step.
///
/// Columns are counted from 0. A column of another type than asked for is ``/CofferPlatform/StoreError/Kind/damaged``: a STRICT table keeps
/// SQLite from writing one, not a file from holding one.
struct Row: ~Copyable {
  private let statement: OpaquePointer

  init(_ statement: OpaquePointer) { self.statement = statement }

  /// An INTEGER.
  func int64(_ column: Int32) throws(StoreError) -> Int64 {
    try check(column, is: SQLITE_INTEGER)
    return sqlite3_column_int64(statement, column)
  }

  /// A BLOB, lent.
  func blob(_ column: Int32) throws(StoreError) -> UnsafeRawBufferPointer {
    try check(column, is: SQLITE_BLOB)
    let start = sqlite3_column_blob(statement, column)
    return UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : Int(sqlite3_column_bytes(statement, column)))
  }

  /// A BLOB, lent, whose length is one of `lengths`.
  func blob(_ column: Int32, _ lengths: ClosedRange<Int>) throws(StoreError) -> UnsafeRawBufferPointer {
    let bytes = try blob(column)
    guard lengths.contains(bytes.count) else {
      throw damaged("a column holds \(bytes.count) bytes where \(lengths.lowerBound) to \(lengths.upperBound) can be")
    }
    return bytes
  }

  /// A BLOB, lent, of exactly `count` bytes.
  func blob(_ column: Int32, count: Int) throws(StoreError) -> UnsafeRawBufferPointer { try blob(column, count...count) }

  /// Whether the column is NULL.
  func isNull(_ column: Int32) -> Bool { sqlite3_column_type(statement, column) == SQLITE_NULL }

  /// A TEXT.
  func text(_ column: Int32) throws(StoreError) -> String {
    try check(column, is: SQLITE3_TEXT)
    // The blob first: asking for the length of a text in another encoding would convert it.
    guard let start = sqlite3_column_text(statement, column) else {
      throw StoreError(sqlite: SQLITE_NOMEM, "read a text", on: sqlite3_db_handle(statement), place: place)
    }
    let bytes = UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, column)))
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The error of a row that no version of Coffer wrote.
  func damaged(_ what: String) -> StoreError {
    StoreError(.damaged, what, place: place.string, cure: "run verify, then restore a backup")
  }

  /// The database's file, as SQLite knows it.
  private var place: FilePath {
    sqlite3_db_filename(sqlite3_db_handle(statement), "main").map { FilePath(platformString: $0) } ?? ""
  }

  @inline(__always)
  private func check(_ column: Int32, is expected: Int32) throws(StoreError) {
    let found = sqlite3_column_type(statement, column)
    guard found == expected else {
      throw damaged("a column holds \(Self.name(found)) where \(Self.name(expected)) belongs")
    }
  }

  private static func name(_ type: Int32) -> String {
    switch type {
    case SQLITE_INTEGER: "an INTEGER"
    case SQLITE_FLOAT: "a REAL"
    case SQLITE3_TEXT: "a TEXT"
    case SQLITE_BLOB: "a BLOB"
    default: "NULL"
    }
  }
}
