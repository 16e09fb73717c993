internal import CofferTerminal
internal import CofferVault
internal import CofferPlatform
internal import SystemPackage

enum NewKeyFile {
  /// Generates a key file, writes it to `path` and returns its content.
  ///
  /// - Throws: `.alreadyExists` if something is there: the only copy of a key is never overwritten.
  static func write(to path: String) throws -> SecretBytes { try PrivateFile.write(KeyFile.generate(), to: path) }

  /// - Parameter opensNothing: whether an error of `body` proves that nothing was made. Then the key file is removed;
  ///   otherwise it stays, as it may be the only way in, and the failure says so.
  static func lend<Result: ~Copyable>(
    _ path: String?, with given: consuming Credentials, _ context: Context, opensNothing: (any Error) -> Bool,
    _ body: (consuming Credentials) throws -> Result
  ) throws -> Result {
    guard let path else { return try body(given) }
    let file = try FirstKeyFile(at: path, context)
    defer { withExtendedLifetime(file) {} }
    given.keyFile = try file.content()
    do { return try body(given) } catch {
      guard opensNothing(error) else { throw Failure.of(error)?.keeping(keyFile: path) ?? error }
      file.discard()
      throw error
    }
  }
}

extension StoreError.Kind {
  /// Whether the error proves that slots were not changed. Damage may be reported after the change: pages that cannot be
  /// cleaned of records under the old key.
  var provesUnchangedSlots: Bool { self != .outcomeUnknown && self != .damaged }
}

/// The key file of a new vault or slot, written before it.
///
/// A command killed in between leaves the file. The next command takes it, if it is this user's alone and was generated
/// here. While this object lives no other command takes the same file.
final class FirstKeyFile {
  private let path: String
  private let wasThere: Bool
  private let lock: DescriptorLock?

  /// - Throws: `.alreadyExists` for a file that no command left behind, or that another command is using.
  init(at path: String, _ context: Context) throws {
    self.path = path
    var taken: Failure?
    do { _ = try NewKeyFile.write(to: path) } catch let failure as Failure where failure.status == .cannotCreate {
      taken = failure
    }
    guard let taken else {
      wasThere = false
      lock = try Self.lockOfNew(path)
      return
    }
    guard let left = try Self.lockOfLeft(path) else { throw taken }
    wasThere = true
    lock = left
    context.note(
      "using the key file \(path), which already exists, perhaps left by an interrupted command; if it opens another "
        + "vault, it opens both")
  }

  /// Nil if the file system has no locks: no other command takes the file there, as that needs a lock.
  private static func lockOfNew(_ path: String) throws(StoreError) -> DescriptorLock? {
    let lock: DescriptorLock?
    do throws(StoreError) { lock = try DescriptorLock.take(FilePath(path), making: false) } catch { return nil }
    guard let lock else {
      throw StoreError(.busy, "another command took the new key file", place: path, cure: "check the result of that command")
    }
    return lock
  }

  private static func lockOfLeft(_ path: String) throws -> DescriptorLock? {
    var facts = stat()
    guard lstat(path, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG, facts.st_uid == geteuid(), facts.st_nlink == 1,
      facts.st_mode & 0o077 == 0, let lock = try DescriptorLock.take(FilePath(path), making: false)
    else { return nil }
    let content = try SecretReader.file(path, limit: SecretFile.largestKey, what: "the key file")
    return try KeyFile.isGenerated(content) ? lock : nil
  }

  func content() throws -> SecretBytes { try SecretReader.file(path, limit: SecretFile.largestKey, what: "the key file") }

  func discard() { if !wasThere { PrivateFile.discard(path) } }
}
