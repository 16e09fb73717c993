internal import CCofferSQLite
internal import CofferPlatform
internal import CofferStorage

/// A compiled statement, kept and run many times.
///
/// Bind, then run with ``execute()``, ``first(_:)`` or ``forEach(_:)``: each of these ends with the statement reset and its
/// parameters cleared, so no lock and no borrowed memory outlives the call. A step allocates nothing on Swift's side.
final class Statement {
  let connection: Connection
  private let handle: OpaquePointer
  /// The blocks that are bound: a run has two at most, and copies of its own would be taken from the heap each time.
  private let blocks = UnsafeMutableRawBufferPointer.allocate(byteCount: 32, alignment: 8)

  /// Compiles `sql`, which must be fixed text: values go in as parameters.
  init(_ sql: String, on connection: Connection) throws(StoreError) {
    handle = try connection.prepare(sql)
    self.connection = connection
  }

  deinit {
    if connection.isOpen { sqlite3_finalize(handle) }
    blocks.deallocate()
  }

  /// Sets parameter `index`, counted from 1.
  func bind(_ number: Int64, at index: Int32) throws(StoreError) {
    try connection.checkOpen()
    try check(sqlite3_bind_int64(handle, index, number))
  }

  /// Lends `bytes` as parameter `index` without copying them: they must stay as they are until the run has ended.
  func bind(lending bytes: UnsafeRawBufferPointer, at index: Int32) throws(StoreError) {
    try connection.checkOpen()
    guard let start = bytes.baseAddress, !bytes.isEmpty else { return try bindEmpty(at: index) }
    try check(sqlite3_bind_blob64(handle, index, start, UInt64(bytes.count), nil))
  }

  /// Sets parameter `index`, 1 or 2, to the bytes of `block`.
  func bind<Role>(_ block: Block16<Role>, at index: Int32) throws(StoreError) {
    let place = UnsafeMutableRawBufferPointer(rebasing: blocks[(Int(index) - 1) * 16..<Int(index) * 16])
    block.withBytes { place.copyMemory(from: $0) }
    try bind(lending: UnsafeRawBufferPointer(place), at: index)
  }

  /// Sets parameter `index` to a copy of `bytes`.
  func bind(copying bytes: RawSpan, at index: Int32) throws(StoreError) {
    try connection.checkOpen()
    guard !bytes.isEmpty else { return try bindEmpty(at: index) }
    try check(
      bytes.withUnsafeBytes { coffer_sqlite3_bind_blob_copy(handle, index, $0.baseAddress, UInt64($0.count)) })
  }

  /// Sets parameter `index` to NULL.
  func bindNull(at index: Int32) throws(StoreError) {
    try connection.checkOpen()
    try check(sqlite3_bind_null(handle, index))
  }

  /// A blob of no bytes; SQLite takes a nil pointer as NULL.
  private func bindEmpty(at index: Int32) throws(StoreError) { try check(sqlite3_bind_zeroblob(handle, index, 0)) }

  /// Runs to the end, for statements without rows.
  func execute() throws(StoreError) {
    defer { reset() }
    repeat { try connection.checkOpen() } while try hasRow(sqlite3_step(handle))
  }

  /// What `body` makes of the first row; nil when there is none.
  func first<Result: ~Copyable>(
    _ body: (borrowing Row) throws(StoreError) -> Result
  ) throws(StoreError) -> Result? {
    defer { reset() }
    try connection.checkOpen()
    guard try hasRow(sqlite3_step(handle)) else { return nil }
    return try body(Row(handle))
  }

  /// Calls `body` with each row. The row, and the bytes it lends, end with the call.
  func forEach(_ body: (borrowing Row) throws(StoreError) -> Void) throws(StoreError) {
    defer { reset() }
    let row = Row(handle)
    while true {
      try connection.checkOpen()
      guard try hasRow(sqlite3_step(handle)) else { return }
      try body(row)
    }
  }

  /// Whether a step that returned `code` has got a row.
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
