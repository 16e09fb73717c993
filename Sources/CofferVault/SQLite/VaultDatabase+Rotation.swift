internal import CCofferSQLite
internal import CofferPlatform
internal import CofferStorage

/// What a rotation needs beside reading and writing records.
extension VaultDatabase {
  /// How long to wait for readers before old bytes are left to a later write, in milliseconds: a read takes microseconds, and a
  /// listing of a large vault less than this.
  private static let scrubPatience: Int32 = 2_000

  /// Runs `body` with room for 64 MiB of pages instead of SQLite's 2: a rotation touches every page in random order, and what does
  /// not fit goes to the write-ahead log and back, row after row. Measured with 10 000 records: 28 000 writes without.
  func withLargeCache<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
    let usual = try connection.number("PRAGMA cache_size")
    try connection.execute("PRAGMA cache_size=-65536")
    do throws(StoreError) {
      let result = try body()
      try connection.execute("PRAGMA cache_size=\(usual)")
      return result
    } catch {
      if connection.isOpen { try connection.execute("PRAGMA cache_size=\(usual)") }
      throw error
    }
  }

  /// The first rows of the log from `sequence` on, some at a time, so that each can be replaced when none is being read.
  func logRows(from sequence: UInt64) throws(StoreError) -> [(sequence: UInt64, box: [UInt8])] {
    var rows: [(UInt64, [UInt8])] = []
    try forEachLogRow(.logBatch, from: sequence) { (seq, box) throws(StoreError) in rows.append((seq, [UInt8](box))) }
    return rows
  }

  /// Rewrites the file and empties its log, outside any transaction, so that no byte of a deleted row is left in either.
  ///
  /// - Throws: ``/CofferPlatform/StoreError`` `.busy` when another process keeps reading or writing, `.noSpace`, `.io`; nothing is lost then.
  func removeOldBytes() throws(StoreError) {
    sqlite3_busy_timeout(connection.handle, Self.scrubPatience)
    defer { sqlite3_busy_timeout(connection.handle, connection.options.busyMilliseconds) }
    try vacuum()
    try emptyLog()
  }
}
