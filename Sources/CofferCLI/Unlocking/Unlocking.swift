internal import Coffer

extension Session {
  /// Opens the vault and checks that it is the expected one. Needs no secret.
  func lockedVault(_ unlocking: UnlockingOptions? = nil) throws -> LockedVault {
    var vault = try places.openVault()
    try ExpectedVault.fromEnvironment()?.check(vault.id, at: places.vault)
    vault.options = try vaultOptions(unlocking)
    return vault
  }

  /// What the vault is compared with: the pins, the environment and the options.
  func vaultOptions(_ unlocking: UnlockingOptions?) throws -> VaultOptions {
    var options = places.vaultOptions
    // Whatever made the vault and whenever: what costs an attacker less is raised by the next command that writes.
    options.leastCost = .floor
    let expected = try ExpectedVault.fromEnvironment()
    options.expected = expected?.vault
    options.leastGeneration = [expected?.generation, unlocking?.minGeneration].compactMap(\.self).max()
    return options
  }

  /// Opens and unlocks the vault.
  func unlockedVault(_ options: UnlockingOptions) throws -> UnlockedVault {
    let locked = try lockedVault(options)
    return try locked.unlock(with: credentials(for: locked, options))
  }

  /// What opens `vault`.
  func credentials(for vault: LockedVault, _ options: UnlockingOptions) throws -> Credentials {
    try CredentialSources(options: options, session: self).credentials(for: vault.slots, of: places.vault)
  }
}
