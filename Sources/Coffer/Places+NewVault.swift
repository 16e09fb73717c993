public import CofferPlatform
internal import CofferMemory
public import CofferVault
internal import CofferVaultFormat
public import SystemPackage

extension Places {
  /// Creates and unlocks the vault here, with a new key file, as `coffer init --new-key-file` does.
  ///
  /// ```swift
  /// let vault = try Places.standard().createVault(newKeyFileAt: "/home/ada/.coffer-key")
  /// ```
  ///
  /// The key file, of mode 0600, appears whole and is durable before the vault. If the process ends in between, the key file
  /// opens nothing, and the next call refuses it, like any existing file. Delete it, and call again.
  ///
  /// - Parameter path: a new file in an existing folder, to which only this user and root can write.
  /// - Throws: ``/CofferPlatform/StoreError`` `.alreadyExists` for a vault here or a file at `path`; `.denied`, `.noSpace`,
  ///   `.io`, `.memory`; `.refused` if `COFFER_EXPECT_VAULT` was set when these places were found; `.busy` if another program
  ///   takes the new key file. Nothing is left then, except the key file after `.busy` or if the error says to keep it.
  public func createVault(newKeyFileAt path: FilePath) throws(StoreError) -> UnlockedVault {
    guard expectation == nil else {
      throw StoreError(
        .refused, "COFFER_EXPECT_VAULT names a vault that already exists", place: vault.description,
        cure: "unset COFFER_EXPECT_VAULT")
    }
    guard try isFree() else {
      throw StoreError(
        .alreadyExists, "there is already a vault", place: vault.description,
        cure: "open it with openVault() and its own key file, or choose other places")
    }
    let file = try Self.newFile(at: path)
    let key = try KeyFile.generate()
    try Self.write(key, to: file)
    let lock = try Self.lock(file)
    defer { withExtendedLifetime(lock) {} }
    do throws(StoreError) {
      return try UnlockedVault.create(at: vault, with: Credentials(keyFile: key), options: vaultOptions)
    } catch {
      guard isUnmade(after: error) else {
        throw StoreError(
          error.kind, error.what, place: error.place, cure: "\(error.cure); keep the key file \(file): the vault may need it",
          underlying: error.underlying)
      }
      _ = file.withPlatformString { unlink($0) }
      throw error
    }
  }

  /// - Throws: the errors of opening a vault.
  private func isFree() throws(StoreError) -> Bool {
    do throws(StoreError) { _ = try LockedVault.open(vault, options: .withoutPins) } catch {
      guard error.kind == .noVault else { throw error }
      return true
    }
    return false
  }

  /// Whether this process made no vault. A server may still carry out an unanswered request.
  private func isUnmade(after error: StoreError) -> Bool {
    if error.kind == .alreadyExists { return true }
    guard error.kind != .outcomeUnknown else { return false }
    do throws(StoreError) { return try isFree() } catch { return false }
  }

  /// The resolved path. Nobody else can replace a file in its folder.
  private static func newFile(at path: FilePath) throws(StoreError) -> FilePath {
    guard let name = path.lastName, ![".", ".."].contains(name) else {
      throw StoreError(.denied, "the path names no file", place: path.string, cure: "give the path of a new key file")
    }
    let file = try TrustedPath.resolve(path.folder).appending(name)
    try TrustedPath.checkParents(of: file)
    return file
  }

  private static func write(_ key: borrowing SecretBytes, to file: FilePath) throws(StoreError) {
    do throws(StoreError) {
      try key.withBytes { (bytes) throws(StoreError) in try AtomicFile(file).create(with: bytes, mode: 0o600) }
    } catch {
      guard error.kind == .alreadyExists else { throw error }
      throw StoreError(
        .alreadyExists, "there is already a file, and a key file is never overwritten", place: file.string,
        cure: "give another path; delete the file if an interrupted call left it")
    }
  }

  /// Keeps `coffer init` from taking the key file as one that an earlier run left. Nil if the file system has no locks.
  private static func lock(_ file: FilePath) throws(StoreError) -> DescriptorLock? {
    let lock: DescriptorLock?
    do throws(StoreError) { lock = try DescriptorLock.take(file, making: false) } catch { return nil }
    guard let lock else {
      throw StoreError(
        .busy, "another program took the new key file", place: file.string, cure: "open the vault that it creates")
    }
    return lock
  }
}
