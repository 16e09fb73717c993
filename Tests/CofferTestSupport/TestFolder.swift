internal import Foundation
public import SystemPackage

/// An empty private folder, under the system's folder for temporary files, which is removed with this object.
public final class TestFolder: Sendable {
  /// Its path without links.
  public let path: FilePath

  /// Makes it; `name` identifies its tests in a listing.
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
