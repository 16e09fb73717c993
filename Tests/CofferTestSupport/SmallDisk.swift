internal import CofferPlatform
internal import Foundation
internal import Testing

/// A small file system in memory, which is unmounted with this object, or with the process.
public final class SmallDisk: Sendable {
  private let path: String
  private let keeper: HeldShell
  private var filling: String { "\(path)/filling" }

  /// Mounts it at `path` for the user `owner`, with the folder's content; skips the test if that is impossible.
  public static func make(at path: String, bytes: Int, owner: UInt32) throws -> SmallDisk {
    let full = "\(path).before"
    try FileManager.default.moveItem(atPath: path, toPath: full)
    try #require(mkdir(path, 0o700) == 0)
    guard mount("tmpfs", path, "tmpfs", 0, "size=\(bytes),mode=0700,uid=\(owner)") == 0 else {
      try Test.skip("a small file system cannot be mounted here: \(String(cString: strerror(errno)))")
    }
    // A process that still uses it keeps it until it ends.
    let keeper = try #require(HeldShell.start(["/usr/bin/env"], last: "umount -l \"$1\"", [path]))
    let copy = Process()
    copy.executableURL = URL(fileURLWithPath: "/bin/cp")
    copy.arguments = ["-a", "\(full)/.", path]
    try copy.run()
    copy.waitUntilExit()
    try #require(copy.terminationStatus == 0)
    try FileManager.default.removeItem(atPath: full)
    return SmallDisk(path, keeper)
  }

  private init(_ path: String, _ keeper: HeldShell) { (self.path, self.keeper) = (path, keeper) }

  /// Fills it.
  public func fill() throws {
    let file = open(filling, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    try #require(file >= 0)
    defer { close(file) }
    let bytes = [UInt8](repeating: 0, count: 1 << 16)
    while write(file, bytes, bytes.count) > 0 {}
    try #require(errno == ENOSPC)
  }

  /// Frees the filled space.
  public func free() throws { try #require(unlink(filling) == 0) }
}
