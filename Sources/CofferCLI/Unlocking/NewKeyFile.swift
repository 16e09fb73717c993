internal import CCofferPlatform
internal import Coffer
internal import SystemPackage

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// A fresh key file on disk.
enum NewKeyFile {
  /// Generates a key file, writes it to `path` and returns its content.
  ///
  /// - Throws: `.alreadyExists` when something is there: the only copy of a key is never overwritten.
  static func write(to path: String) throws -> SecretBytes {
    let content = try KeyFile.generate()
    let descriptor = coffer_open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      guard errno != EEXIST else {
        throw Failure(
          StoreError(.alreadyExists, "there is a file already", place: path, cure: "another path, or --key-file to use this one"))
      }
      throw Failure(StoreError(errno: errno, "create the key file", place: FilePath(path)))
    }
    defer { close(descriptor) }
    do {
      try content.withUnsafeBytes { (raw) throws(Failure) in try Output.write(raw, to: descriptor) }
      // The vault must never be on disk before the key that opens it.
      guard fsync(descriptor) == 0 else {
        throw Failure(StoreError(errno: errno, "write the key file", place: FilePath(path)))
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
