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
  static func write(to path: String) throws -> SecretBytes { try write(KeyFile.generate(), to: path) }

  /// Writes `content`, which is as secret as a key file, to a new file for its owner alone, and returns it. The file appears whole, and is
  /// durable then: a vault must never be on disk before the key that opens it.
  static func write(_ content: consuming SecretBytes, to path: String) throws(Failure) -> SecretBytes {
    do {
      try content.withBytes { (bytes) throws(StoreError) in try AtomicFile(FilePath(path)).create(with: bytes, mode: 0o600) }
    } catch {
      throw Failure(error)
    }
    return content
  }

  /// Takes back a key file that opens nothing, because its vault could not be made.
  static func discard(_ path: String) { unlink(path) }
}
