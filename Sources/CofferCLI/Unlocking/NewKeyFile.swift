internal import Coffer
internal import CofferPlatform
internal import SystemPackage

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

  /// Takes back a key file that opens nothing.
  static func discard(_ path: String) { unlink(path) }

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
      discard(path)
      throw error
    }
  }
}

extension StoreError.Kind {
  /// Whether a change of slots that ended with such an error was not made. Damage may be told of after the change: pages that cannot be
  /// cleaned of what the old key opens.
  var provesUnchangedSlots: Bool { self != .outcomeUnknown && self != .damaged }
}
