package import CofferPlatform
internal import CofferVaultFormat
internal import FoundationEssentials
package import SystemPackage

/// A folder that a stick, a server or another program carries. Each file appears whole under its name.
package struct FolderCarrier: Carrier {
  private let path: FilePath
  private let calls: SystemCalls

  /// - Parameter path: absolute. The folder must be there when it is used: to make it might write below an empty mount point.
  package init(_ path: FilePath, calls: SystemCalls = SystemCalls()) { (self.path, self.calls) = (path, calls) }

  package func heads() throws(StoreError) -> PieceListing { try list(["h"]) }
  package func names() throws(StoreError) -> PieceListing { try list(["h", "o"]) }

  private func list(_ parts: [String]) throws(StoreError) -> PieceListing {
    _ = try status()
    var listing = PieceListing()
    for part in parts where try hasPart(part) {
      let folder = path.appending(part)
      let names: [String]
      do { names = try FileManager.default.contentsOfDirectory(atPath: folder.string) } catch {
        throw StoreError(.denied, "the folder cannot be read", place: folder.string, cure: "check its mode", underlying: error)
      }
      for name in names { try listing.add("\(part)/\(name)", at: path.string) }
    }
    return listing
  }

  package func get(_ names: [PieceName], into folder: PieceFolder) throws(StoreError) {
    _ = try status()
    for part in ["h", "o"] where try hasPart(part) {
      for name in names where name.description.hasPrefix(part) {
        guard let bytes = try PieceFolder.read(path.appending(name.description), limit: name.limit) else { continue }
        try folder.write(bytes, as: name)
      }
    }
  }

  package func put(
    _ groups: [PieceName], _ head: HeadName, from folder: PieceFolder, over heads: [HeadName], anew: Bool
  ) throws(StoreError) -> Bool {
    let mode = try status().permissions
    for part in ["h", "o"] where try !hasPart(part) {
      let code = path.appending(part).withPlatformString { mkdir($0, mode_t(mode & 0o777)) == 0 ? 0 : errno }
      guard code == 0 || code == EEXIST else { throw StoreError(errno: code, "make a folder", place: path.appending(part)) }
      try TrustedPath.synchronize(path)
    }
    // The names of all groups are made durable at once, before the head is there.
    for name in groups { try put(name, folder, mode) }
    if !groups.isEmpty { try TrustedPath.synchronize(path.appending("o")) }
    try put(.head(head), folder, mode)
    try TrustedPath.synchronize(path.appending("h"))
    return true
  }

  /// Over a file of the name too, which another program may have cut short.
  private func put(_ name: PieceName, _ folder: PieceFolder, _ mode: UInt32) throws(StoreError) {
    guard let bytes = try folder.read(name) else { throw .incomplete(name, folder) }
    // A reader of the folder reads its files.
    try AtomicFile(path.appending(name.description), calls: calls)
      .replace(with: bytes.span.bytes, mode: mode & 0o666, durably: false)
  }

  package func remove(_ names: [PieceName]) throws(StoreError) {
    _ = try status()
    for part in ["h", "o"] where try hasPart(part) {
      // Heads first: a head without its groups would look damaged.
      for name in names where name.description.hasPrefix(part) {
        let result = calls.unlink(path.appending(name.description).string)
        guard result == 0 || result == -ENOENT else { throw StoreError(errno: -result, "remove the file", place: path) }
      }
      try TrustedPath.synchronize(path.appending(part))
    }
  }

  private func status() throws(StoreError) -> FileStatus {
    guard let status = try FileStatus(at: path), status.isFolder else {
      throw StoreError(
        .unreachable, "there is no such folder now", place: path.string, cure: "connect its disk, or make the folder")
    }
    return status
  }

  /// Others may write to the folder: a link in it could lead anywhere.
  private func hasPart(_ part: String) throws(StoreError) -> Bool {
    guard let status = try FileStatus(ofLinkAt: path.appending(part)) else { return false }
    guard status.isFolder else {
      throw StoreError(
        .denied, "there is a link or a file instead of a folder", place: path.appending(part).string,
        cure: "find out who made it, and remove it")
    }
    return true
  }
}

extension StoreError {
  static func incomplete(_ name: PieceName, _ folder: PieceFolder) -> StoreError {
    StoreError(.incomplete, "the file \(name) is missing", place: folder.path.string, cure: "begin again; nothing was changed")
  }
}
