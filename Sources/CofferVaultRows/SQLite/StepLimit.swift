internal import CCofferSQLite
internal import CofferPlatform
package import SystemPackage

/// Ends a statement that takes more steps than a file of its size has rows for.
///
/// Crafted pages can refer to each other. Each is sound, and SQLite reads a dozen of them as a tree of 110^20 rows: only
/// `quick_check` looks for a repeated page (sqlite.org/pragma.html). Coffer's scans end at the first row that does not
/// ascend. A statement that counts, changes or copies rows loops inside SQLite, and ends here.
package final class StepLimit {
  /// SQLite's steps between two checks: some 10 ms, measured.
  private static let stride: Int32 = 1_000_000
  /// A row takes at least 6 bytes of a page (sqlite.org/fileformat2.html, 1.6), and no statement on a vault's tables takes 24
  /// steps for a row.
  private static let stepsPerByte = 4

  private let path: FilePath
  private var strides = 0
  private var mostStrides = 0

  package init(_ handle: OpaquePointer, of path: FilePath) {
    self.path = path
    let look: @convention(c) (UnsafeMutableRawPointer?) -> Int32 = { limit in
      guard let limit else { return 0 }
      return Unmanaged<StepLimit>.fromOpaque(limit).takeUnretainedValue().isReached() ? 1 : 0
    }
    sqlite3_progress_handler(handle, Self.stride, look, Unmanaged.passUnretained(self).toOpaque())
  }

  /// Removes the handler, because a `handle` that cannot be closed outlives this limit.
  func end(_ handle: OpaquePointer) { sqlite3_progress_handler(handle, 0, nil, nil) }

  @inline(__always)
  func begin() { strides = 0 }

  private func isReached() -> Bool {
    if strides == 0 { mostStrides = 1 + fileBytes * Self.stepsPerByte / Int(Self.stride) }
    strides += 1
    return strides > mostStrides
  }

  /// Includes the write-ahead log, which may have the pages of a larger file.
  private var fileBytes: Int {
    do throws(StoreError) {
      let log = FilePath(path.string + "-wal")
      return try (FileStatus(ofLinkAt: path)?.size ?? 0) + (FileStatus(ofLinkAt: log)?.size ?? 0)
    } catch { return Limits.mostPages * 4096 }
  }
}
