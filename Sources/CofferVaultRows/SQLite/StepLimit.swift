internal import CCofferSQLite
internal import CofferPlatform
internal import CofferVaultFormat
package import SystemPackage

/// Ends a statement that takes more steps than a file of its size has rows for.
///
/// Pages that somebody crafted can lead back to each other. Each is sound by itself, and SQLite reads a dozen of them as a tree
/// of 110^20 rows: `quick_check` alone looks for a page that is met twice (sqlite.org/pragma.html). Where Coffer takes the rows
/// one by one, a scan ends at the first that does not ascend. Where one statement counts, changes or copies rows, the loop is
/// SQLite's own, and ends here.
package final class StepLimit {
  /// Steps of SQLite's between two looks at the count: some 10 ms, measured.
  private static let stride: Int32 = 1_000_000
  /// A row takes 6 bytes of a page at least, a cell of 4 and its place (sqlite.org/fileformat2.html, 1.6), and no statement on a
  /// vault's tables takes 24 steps for a row.
  private static let stepsPerByte = 4

  private let path: FilePath
  /// The strides of the current statement.
  private var strides = 0
  private var mostStrides = 0

  /// - Parameter path: the database that `handle` has open.
  package init(_ handle: OpaquePointer, of path: FilePath) {
    self.path = path
    let look: @convention(c) (UnsafeMutableRawPointer?) -> Int32 = { limit in
      guard let limit else { return 0 }
      return Unmanaged<StepLimit>.fromOpaque(limit).takeUnretainedValue().isReached() ? 1 : 0
    }
    sqlite3_progress_handler(handle, Self.stride, look, Unmanaged.passUnretained(self).toOpaque())
  }

  /// `handle` asks no more: where it cannot be closed it outlives this limit.
  func end(_ handle: OpaquePointer) { sqlite3_progress_handler(handle, 0, nil, nil) }

  /// A statement begins.
  @inline(__always)
  func begin() { strides = 0 }

  private func isReached() -> Bool {
    if strides == 0 { mostStrides = 1 + fileBytes * Self.stepsPerByte / Int(Self.stride) }
    strides += 1
    return strides > mostStrides
  }

  /// With the write-ahead log, whose pages may be those of a larger file. Where nobody can say, the most that a vault has.
  private var fileBytes: Int {
    do throws(StoreError) {
      let log = FilePath(path.string + "-wal")
      return try (FileStatus(ofLinkAt: path)?.size ?? 0) + (FileStatus(ofLinkAt: log)?.size ?? 0)
    } catch { return Limits.mostPages * 4096 }
  }
}
