internal import Coffer
internal import CofferPlatform
internal import SystemPackage

/// A fresh key file on disk.
enum NewKeyFile {
  /// Generates a key file, writes it to `path` and returns its content.
  ///
  /// - Throws: `.alreadyExists` when something is there: the only copy of a key is never overwritten.
  static func write(to path: String) throws -> SecretBytes {
    try write(KeyFile.generate(), to: path, what: "the key file")
  }

  /// Writes `content`, which is as secret as a key file, to a new file for its owner alone, and returns it.
  static func write(_ content: consuming SecretBytes, to path: String, what: String) throws -> SecretBytes {
    let descriptor = coffer_open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      guard errno != EEXIST else {
        throw Failure(
          StoreError(
            .alreadyExists, "there is a file already", place: path, cure: "give another path, or use the file that is there"))
      }
      throw Failure(StoreError(errno: errno, "create \(what)", place: FilePath(path)))
    }
    defer { close(descriptor) }
    do {
      try content.withUnsafeBytes { (raw) throws(Failure) in try Output.write(raw, to: descriptor) }
      // The vault must never be on disk before the key that opens it.
      guard fsync(descriptor) == 0 else {
        throw Failure(StoreError(errno: errno, "write \(what)", place: FilePath(path)))
      }
    } catch {
      unlink(path)
      throw error
    }
    return content
  }

  /// Takes back a key file that opens nothing, because its vault could not be made.
  static func discard(_ path: String) { unlink(path) }
}
