internal import CofferStorage
internal import Synchronization
internal import SystemPackage

/// Lets one thread at a time into an open vault, and none after it was closed.
final class VaultEngine: Sendable {
  let path: FilePath
  let id: VaultID
  /// How the vault was opened, and is to be opened again.
  let options: VaultOptions
  private let vault: Mutex<OpenVault?>

  init(_ vault: sending OpenVault) {
    path = vault.path
    id = vault.id
    options = vault.options
    self.vault = Mutex(vault)
  }

  /// Runs `body` with the vault.
  ///
  /// - Throws: ``StoreError/Kind/closed`` after ``close()``, ``StoreError/Kind/reentrant`` inside an update closure.
  func run<Result: Sendable>(_ body: (OpenVault) throws(StoreError) -> Result) throws(StoreError) -> Result {
    try Reentrancy.check(path.string)
    return try vault.withLock { (vault) throws(StoreError) in
      guard let vault else {
        throw StoreError(.closed, "the vault was locked", place: path.string, cure: "unlock it again")
      }
      return try body(vault)
    }
  }

  /// Waits for the running call, then drops keys and file: the keys are wiped as their memory is given back.
  func close() { vault.withLock { $0 = nil } }
}
