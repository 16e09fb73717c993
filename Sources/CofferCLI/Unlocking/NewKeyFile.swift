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

  /// Lends `given` with a new key file at `path`, if one is wanted, to `body`, which makes what they open.
  ///
  /// - Parameter opensNothing: whether an error of `body` proves that nothing was made. The key file is taken back then; otherwise it
  ///   stays, as it may be the only way in, and the failure says so.
  static func lend<Result: ~Copyable>(
    _ path: String?, with given: consuming Credentials, opensNothing: (any Error) -> Bool,
    _ body: (consuming Credentials) throws -> Result
  ) throws -> Result {
    guard let path else { return try body(given) }
    given.keyFile = try write(to: path)
    do { return try body(given) } catch {
      guard opensNothing(error) else { throw Main.failure(error)?.keeping(keyFile: path) ?? error }
      unlink(path)
      throw error
    }
  }
}

extension StoreError.Kind {
  /// Whether a change of slots that ended with such an error was not made. Damage may be told of after the change: pages that cannot be
  /// cleaned of what the old key opens.
  var provesUnchangedSlots: Bool { self != .outcomeUnknown && self != .damaged }
}
