internal import Coffer

extension Session {
  /// Opens the vault and checks that it is the expected one. Needs no secret.
  func lockedVault() throws -> LockedVault {
    let vault = try LockedVault.open(places.vault, options: places.vaultOptions)
    try ExpectedVault.fromEnvironment()?.check(vault.id, at: places.vault)
    return vault
  }

  /// Opens and unlocks the vault.
  func unlockedVault(_ options: UnlockingOptions) throws -> UnlockedVault {
    let locked = try lockedVault()
    let sources = CredentialSources(options: options, session: self)
    let vault = try locked.unlock(with: sources.credentials(for: locked.slots, of: places.vault))
    if let expected = try ExpectedVault.fromEnvironment(), expected.generation != nil {
      try expected.check(generation: vault.status().generation, at: places.vault)
    }
    return vault
  }

  /// The unlocked vault as the store of one service; nil where there is no vault.
  func vaultStore(service: String, _ options: UnlockingOptions) throws -> VaultStore? {
    do { return try VaultStore(service: service, vault: unlockedVault(options)) } catch let error as StoreError {
      guard error.kind == .noVault else { throw error }
      return nil
    }
  }
}
