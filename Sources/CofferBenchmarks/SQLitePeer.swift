internal import CCofferSQLite
internal import Foundation

/// Bare SQLite as Coffer's vault uses it (WAL, synchronous FULL by default): one row of a 16-byte key, 16 bytes and two
/// blobs.
final class SQLitePeer {
  private var db: OpaquePointer?
  private var insert: OpaquePointer?
  private var select: OpaquePointer?
  private var begin: OpaquePointer?
  private var commit: OpaquePointer?
  private let blob: [UInt8]

  init(path: String, valueBytes: Int, synchronous: String = "FULL") throws {
    blob = [UInt8](repeating: 7, count: valueBytes)
    guard sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nil) == SQLITE_OK
    else { throw PeerFailed() }
    try run("PRAGMA journal_mode=WAL; PRAGMA synchronous=\(synchronous); PRAGMA secure_delete=ON; PRAGMA cell_size_check=ON;")
    try run("CREATE TABLE r(idx BLOB PRIMARY KEY, rid BLOB, meta BLOB, value BLOB) STRICT, WITHOUT ROWID")
    insert = try prepare("INSERT OR REPLACE INTO r VALUES(?1, ?2, ?3, ?4)")
    select = try prepare("SELECT rid, meta, value FROM r WHERE idx = ?1")
    begin = try prepare("BEGIN IMMEDIATE")
    commit = try prepare("COMMIT")
  }

  deinit {
    for statement in [insert, select, begin, commit] { sqlite3_finalize(statement) }
    sqlite3_close(db)
  }

  struct PeerFailed: Error {}

  func key(_ number: Int) -> [UInt8] {
    var hash = UInt64(truncatingIfNeeded: number) &* 0x9E37_79B9_7F4A_7C15
    return (0..<16).map { _ in
      hash = hash &* 6_364_136_223_846_793_005 &+ 1
      return UInt8(truncatingIfNeeded: hash >> 56)
    }
  }

  func put(_ number: Int) throws {
    let key = key(number)
    sqlite3_bind_blob64(insert, 1, key, 16, nil)
    sqlite3_bind_blob64(insert, 2, blob, 16, nil)
    sqlite3_bind_blob64(insert, 3, blob, 144, nil)
    sqlite3_bind_blob64(insert, 4, blob, UInt64(blob.count), nil)
    defer { sqlite3_reset(insert) }
    guard sqlite3_step(insert) == SQLITE_DONE else { throw PeerFailed() }
  }

  /// One row, durably.
  func set(_ number: Int) throws { try transaction { try put(number) } }

  func transaction(_ body: () throws -> Void) throws {
    try step(begin)
    try body()
    try step(commit)
  }

  /// The first byte of a value.
  func get(_ number: Int) throws -> UInt8 {
    let key = key(number)
    sqlite3_bind_blob64(select, 1, key, 16, nil)
    defer { sqlite3_reset(select) }
    guard sqlite3_step(select) == SQLITE_ROW, let value = sqlite3_column_blob(select, 2) else { throw PeerFailed() }
    return value.load(as: UInt8.self)
  }

  private func step(_ statement: OpaquePointer?) throws {
    defer { sqlite3_reset(statement) }
    guard sqlite3_step(statement) == SQLITE_DONE else { throw PeerFailed() }
  }

  private func run(_ sql: String) throws {
    guard sqlite3_exec(db, sql, nil, nil, nil) == SQLITE_OK else { throw PeerFailed() }
  }

  private func prepare(_ sql: String) throws -> OpaquePointer? {
    var statement: OpaquePointer?
    guard sqlite3_prepare_v2(db, sql, -1, &statement, nil) == SQLITE_OK else { throw PeerFailed() }
    return statement
  }
}
