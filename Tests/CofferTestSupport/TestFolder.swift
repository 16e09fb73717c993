internal import Foundation
public import SystemPackage

/// An empty folder for its owner alone, under the system's folder for temporary files, which is removed with this object.
public final class TestFolder: Sendable {
  /// Where it is, without links on the way.
  public let path: FilePath

  /// Makes it; `name` tells in a listing which tests it is of.
  public init(_ name: String) throws {
    let folder = FileManager.default.temporaryDirectory.resolvingSymlinksInPath().appending(
      path: "coffer-\(name)-\(UUID().uuidString)")
    try FileManager.default.createDirectory(
      at: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    path = FilePath(folder.path)
  }

  deinit {
    do { try FileManager.default.removeItem(atPath: path.string) } catch { print("left behind: \(path): \(error)") }
  }
}
