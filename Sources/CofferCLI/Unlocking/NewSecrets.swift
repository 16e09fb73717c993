internal import CCofferPlatform
internal import Coffer

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// The secrets of a vault that is being made.
struct NewSecrets {
  let new: NewSecretOptions
  let session: Session
  let sources: CredentialSources

  init(new: NewSecretOptions, existing: UnlockingOptions, session: Session) {
    self.new = new
    self.session = session
    sources = CredentialSources(options: existing, session: session)
  }

  func claimInput() throws(Failure) {
    if new.usesStandardInput { try session.input.claim(for: "the new passphrase") }
    try sources.claimInput()
  }

  /// The credentials, and the key file that was written for them.
  ///
  /// Nothing is old yet, so the unlocking sources serve too. A key file that was asked for, alone, makes a vault for a
  /// machine: then the environment and the terminal are not asked for a passphrase.
  func credentials() throws -> Credentials {
    var found = try sources.fromOptions()
    if new.hasPassphrase {
      guard found.passphrase == nil else {
        throw Failure.usage("two passphrases were given for one new vault", try: "only one of the options for it")
      }
      found.passphrase = try newPassphrase()
    }
    guard found.recoveryCode == nil, found.identity == nil else {
      throw Failure.usage(
        "a new vault starts with a passphrase, a key file or both", try: "--passphrase-file, --key-file or --new-key-file")
    }
    if let path = new.newKeyFile {
      guard found.keyFile == nil else {
        throw Failure.usage("two key files were given for one new vault", try: "--key-file or --new-key-file")
      }
      found.keyFile = try NewKeyFile.write(to: path)
      return found
    }
    guard found.isEmpty else { return found }
    found = try sources.fromEnvironment()
    if found.isEmpty { found.passphrase = try sources.fromCredentialsFolder() }
    if found.isEmpty, let terminal = Terminal() {
      found.passphrase = try terminal.newSecret("passphrase").asPassphrase(from: "the terminal")
    }
    guard !found.isEmpty else { throw Self.nothing }
    return found
  }

  private func newPassphrase() throws -> SecretBytes? {
    if let descriptor = new.newPassphraseFd { return try sources.passphrase(fromDescriptor: descriptor) }
    return try new.newPassphraseFile.map { try sources.passphrase(fromFile: $0) }
  }

  private static let nothing = Failure(
    StoreError(
      .locked, "a new vault needs a secret, and there is no terminal to ask at",
      cure: "--new-passphrase-file PATH, --new-passphrase-fd N, or --new-key-file PATH"))
}

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

/// Questions about files that need no error.
enum FileFacts {
  static func exists(_ path: FilePath) -> Bool { path.withPlatformString { access($0, F_OK) } == 0 }
}
