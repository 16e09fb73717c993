internal import CCofferSQLite
package import CofferPlatform
internal import SystemPackage

/// A compiled statement, kept and run many times.
///
/// ``execute()``, ``first(_:)`` and ``forEach(_:)`` reset the statement and clear its parameters, so no lock or borrowed
/// memory outlives the call. A step allocates nothing on Swift's side.
package final class Statement {
  let connection: Connection
  private let handle: OpaquePointer

  /// - Parameter sql: fixed text; values are parameters.
  package init(_ sql: String, on connection: Connection) throws(StoreError) {
    handle = try connection.prepare(sql)
    self.connection = connection
  }

  deinit {
    if connection.isOpen { sqlite3_finalize(handle) }
  }

  package func bind(_ number: Int64, at index: Int32) throws(StoreError) {
    try connection.checkOpen()
    try check(sqlite3_bind_int64(handle, index, number))
  }

  /// Lends `bytes` without a copy. They must not change until the run has ended.
  package func bind(lending bytes: UnsafeRawBufferPointer, at index: Int32) throws(StoreError) {
    try connection.checkOpen()
    guard let start = bytes.baseAddress, !bytes.isEmpty else { return try bindEmpty(at: index) }
    try check(sqlite3_bind_blob64(handle, index, start, UInt64(bytes.count), nil))
  }

  package func bindNull(at index: Int32) throws(StoreError) {
    try connection.checkOpen()
    try check(sqlite3_bind_null(handle, index))
  }

  /// SQLite takes a nil pointer as NULL.
  private func bindEmpty(at index: Int32) throws(StoreError) { try check(sqlite3_bind_zeroblob(handle, index, 0)) }

  func execute() throws(StoreError) {
    defer { reset() }
    connection.limit.begin()
    repeat { try connection.checkOpen() } while try hasRow(sqlite3_step(handle))
  }

  func first<Result: ~Copyable>(
    _ body: (borrowing Row) throws(StoreError) -> Result
  ) throws(StoreError) -> Result? {
    defer { reset() }
    try connection.checkOpen()
    connection.limit.begin()
    guard try hasRow(sqlite3_step(handle)) else { return nil }
    return try body(Row(handle))
  }

  /// Calls `body` with each row. The row and its bytes are valid only during the call.
  func forEach(_ body: (borrowing Row) throws(StoreError) -> Void) throws(StoreError) {
    defer { reset() }
    connection.limit.begin()
    let row = Row(handle)
    while true {
      try connection.checkOpen()
      guard try hasRow(sqlite3_step(handle)) else { return }
      try body(row)
    }
  }

  private func hasRow(_ code: Int32) throws(StoreError) -> Bool {
    guard code != SQLITE_ROW else { return true }
    guard code == SQLITE_DONE else {
      throw connection.failure(code, sqlite3_stmt_readonly(handle) != 0 ? "read the vault" : "write to the vault")
    }
    return false
  }

  private func reset() {
    guard connection.isOpen else { return }
    sqlite3_reset(handle)
    sqlite3_clear_bindings(handle)
  }

  private func check(_ code: Int32) throws(StoreError) {
    guard code == SQLITE_OK else { throw connection.failure(code, "bind a parameter") }
  }
}

/// Each is compiled at its first use.
package enum Query: Int, CaseIterable {
  case header, putHeader, headerCopy, putHeaderCopy, state, putState
  case digests, putDigest, deleteDigest
  case record, recordMetadata, recordsBetween, recordsFrom, records, putRecord, replaceRecord, deleteRecord
  case oldRecord, oldMetadata, oldBetween, oldFrom, oldRecords, putOld, replaceOld, deleteOld
  case logRows, logBatch, logRow, logStart, appendLog, putLog, trimLog, cutLog
  case headerRows, headerCopyRows, stateRows
  case outcome, outcomes, putOutcome, expireOutcomes, redateOutcomes, droppedOutcomes, forget

  var sql: String {
    switch self {
    case .header: "SELECT bytes FROM header WHERE id=1"
    case .putHeader: "REPLACE INTO header (id, bytes) VALUES (1, ?1)"
    case .headerCopy: "SELECT bytes FROM header_copy WHERE id=2"
    case .putHeaderCopy: "REPLACE INTO header_copy (id, bytes) VALUES (2, ?1)"
    case .state: "SELECT bytes FROM state WHERE id=1"
    case .putState: "REPLACE INTO state (id, bytes) VALUES (1, ?1)"
    case .digests: "SELECT bucket, hash FROM digest ORDER BY bucket"
    case .putDigest: "REPLACE INTO digest (bucket, hash) VALUES (?1, ?2)"
    case .deleteDigest: "DELETE FROM digest WHERE bucket=?1"
    case .record: "SELECT rid, meta, value FROM rec WHERE idx=?1"
    case .recordMetadata: "SELECT rid, meta FROM rec WHERE idx=?1"
    case .recordsBetween: "SELECT idx, rid FROM rec WHERE idx>=?1 AND idx<?2 ORDER BY idx"
    case .recordsFrom: "SELECT idx, rid FROM rec WHERE idx>=?1 ORDER BY idx"
    case .records: "SELECT idx, rid, meta, value FROM rec ORDER BY idx"
    case .putRecord: "REPLACE INTO rec (idx, rid, meta, value) VALUES (?1, ?2, ?3, ?4)"
    case .replaceRecord: "UPDATE rec SET rid=?2, meta=?3, value=?4 WHERE idx=?1"
    case .deleteRecord: "DELETE FROM rec WHERE idx=?1"
    case .oldRecord: "SELECT rid, meta, value FROM old WHERE idx=?1"
    case .oldMetadata: "SELECT rid, meta FROM old WHERE idx=?1"
    case .oldBetween: "SELECT idx, rid FROM old WHERE idx>=?1 AND idx<?2 ORDER BY idx"
    case .oldFrom: "SELECT idx, rid FROM old WHERE idx>=?1 ORDER BY idx"
    case .oldRecords: "SELECT idx, rid, meta, value FROM old ORDER BY idx"
    case .putOld: "REPLACE INTO old (idx, rid, meta, value) VALUES (?1, ?2, ?3, ?4)"
    case .replaceOld: "UPDATE old SET rid=?2, meta=?3, value=?4 WHERE idx=?1"
    case .deleteOld: "DELETE FROM old WHERE idx=?1"
    case .logRows: "SELECT seq, box FROM log WHERE seq>=?1 ORDER BY seq"
    case .logBatch: "SELECT seq, box FROM log WHERE seq>=?1 ORDER BY seq LIMIT ?2"
    case .appendLog: "INSERT INTO log (seq, box) VALUES (?1, ?2)"
    case .logRow: "SELECT box FROM log WHERE seq=?1"
    case .logStart: "SELECT min(seq) FROM log"
    case .putLog: "REPLACE INTO log (seq, box) VALUES (?1, ?2)"
    case .trimLog: "DELETE FROM log WHERE seq<?1"
    case .cutLog: "DELETE FROM log WHERE seq>?1"
    case .headerRows: "SELECT id FROM header ORDER BY id"
    case .headerCopyRows: "SELECT id FROM header_copy ORDER BY id"
    case .stateRows: "SELECT id FROM state ORDER BY id"
    case .outcome: "SELECT outcome, time FROM decided WHERE txid=?1"
    case .outcomes: "SELECT txid, outcome, time FROM decided ORDER BY txid"
    case .putOutcome: "REPLACE INTO decided (txid, outcome, time) VALUES (?1, ?2, ?3)"
    case .expireOutcomes: "DELETE FROM decided WHERE outcome=?1 AND time<?2"
    case .redateOutcomes: "UPDATE decided SET time=?2 WHERE outcome=?1 AND time>?2"
    case .droppedOutcomes: "SELECT count(*) FROM decided WHERE outcome=?1"
    case .forget: "DELETE FROM decided WHERE txid=?1"
    }
  }
}

/// The current row of a statement, valid until the next step.
///
/// Columns count from 0. A column of an unexpected type is ``/CofferPlatform/StoreError/Kind/damaged``: STRICT tables do not
/// prevent one in a foreign file.
package struct Row: ~Copyable {
  private let statement: OpaquePointer

  package init(_ statement: OpaquePointer) { self.statement = statement }

  func int64(_ column: Int32) throws(StoreError) -> Int64 {
    try check(column, is: SQLITE_INTEGER)
    return sqlite3_column_int64(statement, column)
  }

  func blob(_ column: Int32) throws(StoreError) -> UnsafeRawBufferPointer {
    try check(column, is: SQLITE_BLOB)
    let start = sqlite3_column_blob(statement, column)
    return UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : Int(sqlite3_column_bytes(statement, column)))
  }

  func blob(_ column: Int32, _ lengths: ClosedRange<Int>) throws(StoreError) -> UnsafeRawBufferPointer {
    let bytes = try blob(column)
    guard lengths.contains(bytes.count) else {
      throw damaged("a column holds \(bytes.count) bytes where \(lengths.lowerBound) to \(lengths.upperBound) can be")
    }
    return bytes
  }

  func blob(_ column: Int32, count: Int) throws(StoreError) -> UnsafeRawBufferPointer { try blob(column, count...count) }

  func isNull(_ column: Int32) -> Bool { sqlite3_column_type(statement, column) == SQLITE_NULL }

  func text(_ column: Int32) throws(StoreError) -> String {
    try check(column, is: SQLITE3_TEXT)
    // The blob first: asking for the length of a text in another encoding would convert it.
    guard let start = sqlite3_column_text(statement, column) else {
      throw StoreError(sqlite: SQLITE_NOMEM, "read a text", on: sqlite3_db_handle(statement), place: place)
    }
    let bytes = UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, column)))
    return String(decoding: bytes, as: UTF8.self)
  }

  func damaged(_ what: String) -> StoreError {
    StoreError(.damaged, what, place: place.string, cure: "run verify, then restore a backup")
  }

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
