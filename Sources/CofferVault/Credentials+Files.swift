package import CofferMemory
public import CofferPlatform
internal import CofferStorage
internal import CofferVaultFormat
public import SystemPackage

extension Credentials {
  /// The key file at `path`, read only into guarded memory.
  ///
  /// A file that others can read is noted in the log `coffer`. A named pipe is read to its end, which may block.
  ///
  /// - Throws: ``/CofferPlatform/StoreError`` with the path: `.io(ENOENT)` if the file is missing, `.denied` if it is not
  ///   readable, `.tooLarge` above 1 MiB.
  public init(keyFileAt path: FilePath) throws(StoreError) { self.init(keyFile: try Self.keyFile(at: path)) }

  /// The passphrase in the file at `path`, without one trailing newline. A named pipe is read to its end.
  ///
  /// - Throws: ``/CofferPlatform/StoreError`` with the path: `.io(ENOENT)` if the file is missing, `.denied` if it is not
  ///   readable, `.unfitSecret` for an empty passphrase, `.tooLarge` above 1 024 bytes.
  public init(passphraseFileAt path: FilePath) throws(StoreError) { self.init(passphrase: try Self.passphrase(at: path)) }

  /// All credentials named by this process's environment, as on the command line but without a prompt:
  ///
  /// - the key file at `COFFER_KEY_FILE`,
  /// - the passphrase in the file at `COFFER_PASSPHRASE_FILE`, or else in `$CREDENTIALS_DIRECTORY/coffer.passphrase`, where
  ///   systemd puts the credentials of a service (systemd.exec(5), `LoadCredential=`),
  /// - the identity in the file at `COFFER_IDENTITY`.
  ///
  /// ```swift
  /// let vault = try Places.standard().openVault().unlock(with: .standard())
  /// ```
  ///
  /// Only the command line reads `COFFER_PASSPHRASE`: readers of this process's environment would have it, and a library
  /// cannot remove it from other threads.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/noCredentials`` if none of these is set;
  ///   ``/CofferPlatform/StoreError/Kind/unsupported`` if `COFFER_PASSPHRASE_FILE` is `-`, because standard input belongs to
  ///   the program; ``/CofferPlatform/StoreError/Kind/damaged`` for an identity file with an invalid line; the errors of
  ///   reading the files.
  public static func standard() throws(StoreError) -> Credentials {
    var found = Credentials()
    found.keyFile = try fromEnvironment("COFFER_KEY_FILE") { (path) throws(StoreError) in try keyFile(at: path) }
    found.identity = try fromEnvironment("COFFER_IDENTITY") { (path) throws(StoreError) in try identity(at: path) }
    found.passphrase = try fromEnvironment("COFFER_PASSPHRASE_FILE") { (path) throws(StoreError) in
      if path.string == "-" { throw standardInput }
      return try passphrase(at: path)
    }
    if found.passphrase == nil { found.passphrase = try servicePassphrase() }
    guard !found.isEmpty else { throw nothing }
    return found
  }

  private static var standardInput: StoreError {
    StoreError(
      .unsupported, "COFFER_PASSPHRASE_FILE names standard input, which a library does not read", place: "the environment",
      cure: "set COFFER_PASSPHRASE_FILE to the path of a file")
  }

  private static var nothing: StoreError {
    StoreError(
      .noCredentials, "the environment names nothing to unlock a vault with", place: "the environment",
      cure: """
        set COFFER_KEY_FILE, COFFER_PASSPHRASE_FILE or COFFER_IDENTITY to the path of a file, give a service the credential \
        coffer.passphrase, or make Credentials(keyFileAt:)
        """)
  }
}

extension Credentials {
  /// Nil if the variable is unset, or empty, as shells often leave it.
  private static func fromEnvironment(
    _ variable: String, _ read: (FilePath) throws(StoreError) -> SecretBytes
  ) throws(StoreError) -> SecretBytes? {
    guard let path = try EnvironmentVariable.text(variable), !path.isEmpty else { return nil }
    return try read(FilePath(path))
  }

  /// Nil if there is none. Source: systemd.exec(5), LoadCredential=.
  package static func servicePassphrase() throws(StoreError) -> SecretBytes? {
    guard let folder = try EnvironmentVariable.text("CREDENTIALS_DIRECTORY"), !folder.isEmpty else { return nil }
    let path = FilePath(folder).appending("coffer.passphrase")
    guard path.withPlatformString({ access($0, F_OK) }) == 0 else { return nil }
    // systemd may grant access to the service by an access list (acl(5)), whose mask appears as the group's mode.
    return try passphrase(at: path, warning: false)
  }

  package static func keyFile(at path: FilePath, warning: Bool = true) throws(StoreError) -> SecretBytes {
    try SecretFile.content(of: path, limit: SecretFile.largestKey, what: "the key file", warning: warning)
  }

  /// Checks each line.
  package static func identity(at path: FilePath, warning: Bool = true) throws(StoreError) -> SecretBytes {
    let content = try SecretFile.content(
      of: path, limit: SecretFile.largestIdentity, what: "the identity", warning: warning)
    do throws(StoreError) { try Identity.check(content) } catch {
      throw StoreError(error.kind, error.what, place: path.string, cure: error.cure, underlying: error.underlying)
    }
    return content
  }

  package static func passphrase(at path: FilePath, warning: Bool = true) throws(StoreError) -> SecretBytes {
    // Plus two bytes for a newline.
    let text = try SecretFile.content(
      of: path, limit: SecretFile.largestPassphrase + 2, what: "the passphrase file", warning: warning)
    return try text.withoutTrailingNewline(.lineFeedOrCRLF).checkedAsPassphrase(from: path.string)
  }
}

package enum TrailingNewline { case lineFeed, lineFeedOrCRLF }

extension SecretBytes {
  package borrowing func withoutTrailingNewline(_ style: TrailingNewline) throws(StoreError) -> SecretBytes {
    let drop = withUnsafeBytes { raw -> Int in
      guard raw.last == UInt8(ascii: "\n") else { return 0 }
      return style == .lineFeedOrCRLF && raw.dropLast().last == UInt8(ascii: "\r") ? 2 : 1
    }
    do { return try prefix(count - drop) } catch { throw StoreError(memory: error) }
  }

  /// These bytes without the newline that a shell or an editor adds to one line. Several lines stay exact: an SSH key
  /// without its last newline is broken.
  package borrowing func withoutNewlineOfOneLine() throws(StoreError) -> SecretBytes {
    let isOneLine = withUnsafeBytes { $0.firstIndex(of: UInt8(ascii: "\n")) == $0.count - 1 }
    if isOneLine { return try withoutTrailingNewline(.lineFeed) }
    do { return try prefix(count) } catch { throw StoreError(memory: error) }
  }

  /// - Throws: `.unfitSecret` if there are no bytes, `.tooLarge`.
  package consuming func checkedAsPassphrase(from source: String) throws(StoreError) -> SecretBytes {
    let length = count
    guard length > 0 else {
      throw StoreError(.unfitSecret, "the passphrase from \(source) is empty", place: source, cure: "give one of 1 to 1024 bytes")
    }
    guard length <= SecretFile.largestPassphrase else {
      throw StoreError(
        .tooLarge(limit: SecretFile.largestPassphrase), "the passphrase from \(source) is longer than 1024 bytes",
        cure: "use a shorter one, or a key file")
    }
    return self
  }
}
