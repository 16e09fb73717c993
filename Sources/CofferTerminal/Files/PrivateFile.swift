package import CofferMemory
internal import CofferPlatform
internal import SystemPackage

package enum PrivateFile {
  /// Writes the secret `content` to a new file for its owner alone, and returns it. The file appears whole and durable: a
  /// vault must never be on disk before the key that opens it.
  package static func write(_ content: consuming SecretBytes, to path: String) throws(Failure) -> SecretBytes {
    try GivenPath.check(path)
    do {
      try content.withBytes { (bytes) throws(StoreError) in try AtomicFile(FilePath(path)).create(with: bytes, mode: 0o600) }
    } catch { throw Failure(error) }
    return content
  }

  package static func discard(_ path: String) { unlink(path) }
}
