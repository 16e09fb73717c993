package import CofferPlatform
internal import FoundationEssentials
package import SystemPackage

/// Files of pieces under their names in a folder of this machine, which nobody else can enter.
package struct PieceFolder: Sendable {
  package let path: FilePath

  /// Makes its missing parts.
  ///
  /// - Throws: ``StoreError`` `.denied` for a folder that others can enter, `.readOnly`, `.noSpace`, `.io`.
  package init(_ folder: FilePath) throws(StoreError) {
    path = try TrustedPath.makePrivateFolder(folder)
    for part in ["h", "o"] { _ = try TrustedPath.makePrivateFolder(path.appending(part)) }
  }

  package func path(of name: PieceName) -> FilePath { path.appending(name.description) }

  /// The bytes of a file; nil if there is none of at most the limit of its name.
  package func read(_ name: PieceName) throws(StoreError) -> [UInt8]? { try Self.read(path(of: name), limit: name.limit) }

  /// Whether there is a file of at most the limit of its name.
  func has(_ name: PieceName) throws(StoreError) -> Bool {
    guard let status = try FileStatus(ofLinkAt: path(of: name)) else { return false }
    return status.isRegular && status.size <= name.limit
  }

  /// Removes all other pieces.
  func keep(_ names: Set<PieceName>) throws(StoreError) {
    for part in ["h", "o"] {
      let found: [String]
      do { found = try FileManager.default.contentsOfDirectory(atPath: path.appending(part).string) } catch {
        throw StoreError(.io(EIO), "the cache cannot be listed", place: path.string, cure: "remove it", underlying: error)
      }
      for text in found {
        if let name = PieceName("\(part)/\(text)"), !names.contains(name) { try remove(name) }
      }
    }
  }

  func remove(_ name: PieceName) throws(StoreError) {
    let code = path(of: name).withPlatformString { unlink($0) == 0 ? 0 : errno }
    guard code == 0 || code == ENOENT else { throw StoreError(errno: code, "remove the file", place: path(of: name)) }
  }

  /// Not durable: it can be brought again.
  package func write(_ bytes: [UInt8], as name: PieceName) throws(StoreError) { try Self.write(bytes, to: path(of: name)) }

  static func write(_ bytes: [UInt8], to path: FilePath) throws(StoreError) {
    do {
      let options: FileDescriptor.OpenOptions = [.create, .truncate, .noFollow, .closeOnExec]
      let file = try FileDescriptor.open(path, .writeOnly, options: options, permissions: .ownerReadWrite)
      _ = try file.closeAfter { try file.writeAll(bytes) }
    } catch { throw failure(error, "write the file", path) }
  }

  /// Follows no link in place of the file, and waits for no pipe. Nil for nothing, for a file that is none, and for one above
  /// `limit`.
  static func read(_ path: FilePath, limit: Int) throws(StoreError) -> [UInt8]? {
    do {
      let file = try FileDescriptor.open(path, .readOnly, options: [.noFollow, .nonBlocking, .closeOnExec])
      return try file.closeAfter {
        let status = try FileStatus(of: file.rawValue, place: path)
        guard status.isRegular, status.size <= limit else { return nil }
        return try [UInt8](unsafeUninitializedCapacity: status.size) { buffer, count in
          count = try file.fill(UnsafeMutableRawBufferPointer(buffer))
        }
      }
    } catch {
      let absent: [Errno] = [.noSuchFileOrDirectory, .notDirectory, .tooManySymbolicLinkLevels]
      if let errno = error as? Errno, absent.contains(errno) { return nil }
      throw failure(error, "read the file", path)
    }
  }

  private static func failure(_ error: any Error, _ doing: String, _ path: FilePath) -> StoreError {
    error as? StoreError ?? StoreError(errno: (error as? Errno)?.rawValue ?? EIO, doing, place: path)
  }
}
