public import CofferAgent
public import CofferDefaults
public import CofferPlatform
public import CofferStorage
public import CofferVault

extension StorageRouter {
  /// A router for the app `domain`: preferences in its property list, secrets in the standard vault, which stays locked.
  ///
  /// Where there is no vault yet, plain keys work and calls on keys of the vault throw ``/CofferPlatform/StoreError/Kind/noVault``.
  ///
  /// ```swift
  /// let app = try StorageRouter.open("com.example.app", keys: AppKeys())
  /// ```
  ///
  /// - Parameters:
  ///   - domain: the app's name, one path component. It names the property list, and is the service of the vault's items.
  ///   - spaces: every key space that will be used with this router.
  ///   - places: where the files are; see ``/Coffer/Places/standard(_:)``.
  ///   - overrides: what reads in place of stored preferences; `-key value` on this process's command line unless given.
  /// - Throws: ``/CofferPlatform/StoreError`` `.duplicateKey`, `.invalidName`, `.refused` for an override of a key of the vault, and what opening either store throws.
  public static func open(
    _ domain: String, keys spaces: any KeySpace..., places: Places? = nil, overrides: Overrides = .commandLine
  ) throws(StoreError) -> StorageRouter {
    let places = try places.orStandard()
    let vault: any Store<Vault>
    do { vault = try VaultStore(service: domain, vault: places.openVault()) } catch {
      guard error.kind == .noVault else { throw error }
      vault = AbsentVault(refusal: error)
    }
    return try open(domain, spaces, vault, places, overrides)
  }

  /// A router for the app `domain` over an open vault, which it takes over.
  ///
  /// A server unlocks and opens in three lines:
  ///
  /// ```swift
  /// let locked = try Places.standard().openVault()
  /// let vault = try locked.unlock(with: Credentials(keyFile: keyFile))
  /// let app = try StorageRouter.open("com.example.app", keys: AppKeys(), vault: vault)
  /// ```
  ///
  /// - Throws: ``/CofferPlatform/StoreError`` `.duplicateKey`, `.invalidName`, `.refused` for an override of a key of the vault, and what opening
  ///   the property list throws.
  public static func open(
    _ domain: String, keys spaces: any KeySpace..., vault: consuming UnlockedVault, places: Places? = nil,
    overrides: Overrides = .commandLine
  ) throws(StoreError) -> StorageRouter {
    try open(domain, spaces, VaultStore(service: domain, vault: vault), places.orStandard(), overrides)
  }

  /// A router for the app `domain` over a store of secrets that the caller keeps: a ``/CofferVault/VaultStore``, to unlock and lock it while the
  /// router lives, or the user's agent, with which this program needs nothing to unlock the vault with.
  ///
  /// ```swift
  /// let places = try Places.standard()
  /// let app = try StorageRouter.open("com.example.app", keys: AppKeys(), vault: places.agentStore(service: "com.example.app"))
  /// ```
  ///
  /// - Throws: ``/CofferPlatform/StoreError`` `.duplicateKey`, `.invalidName`, `.refused` for an override of a key of the vault, and what opening
  ///   the property list throws.
  public static func open(
    _ domain: String, keys spaces: any KeySpace..., vault: any Store<Vault>, places: Places? = nil,
    overrides: Overrides = .commandLine
  ) throws(StoreError) -> StorageRouter {
    try open(domain, spaces, vault, places.orStandard(), overrides)
  }

  private static func open(
    _ domain: String, _ spaces: [any KeySpace], _ vault: any Store<Vault>, _ places: Places, _ overrides: Overrides
  ) throws(StoreError) -> StorageRouter {
    try StorageRouter(plain: places.openDefaults(domain, overrides: overrides), vault: vault, spaces: spaces)
  }

  /// Returns once everything written through this router survives a power loss and other programs can read it.
  ///
  /// - Throws: ``/CofferPlatform/StoreError`` `.noSpace`, `.readOnly`, `.io`.
  public func synchronize() throws(StoreError) {
    try plain.synchronize()
    try vault.synchronize()
  }

  /// Ends all observation through this router, writes what was acknowledged, and closes the plain store: later calls on plain keys
  /// throw ``/CofferPlatform/StoreError/Kind/closed``. A vault stays as it is; whoever unlocked it locks it.
  ///
  /// - Throws: what ``/CofferDefaults/DefaultsStore/close()`` throws; the store is closed all the same.
  public func close() throws(StoreError) {
    endObservation()
    try plain.close()
  }
}

extension Places? {
  func orStandard() throws(StoreError) -> Places {
    guard let self else { return try Places.standard() }
    return self
  }
}

extension Places {
  /// How vaults are opened here: compared with the rollback pins of this user on this machine, and one passphrase hashed at a time.
  public var vaultOptions: VaultOptions { VaultOptions(pins: state.appending("pins"), lockFolder: run ?? state) }

  /// The vault here, locked.
  ///
  /// - Throws: what ``/CofferVault/LockedVault/open(_:options:)`` throws.
  public func openVault() throws(StoreError) -> LockedVault { try LockedVault.open(vault, options: vaultOptions) }

  /// The items of one service in the vault here, kept by the user's agent. Asks nothing yet: without an agent, calls throw
  /// ``/CofferPlatform/StoreError/Kind/locked``.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/denied`` where there is no run folder (`XDG_RUNTIME_DIR` is not set),
  ///   ``/CofferPlatform/StoreError/Kind/invalidName``.
  public func agentStore(service: String) throws(StoreError) -> AgentStore {
    guard let run else {
      throw StoreError(.denied, "there is no folder for the agent's socket", cure: "set XDG_RUNTIME_DIR or COFFER_HOME")
    }
    let client = AgentClient(folder: run, vault: vault, options: vaultOptions)
    return try AgentStore(service: service, vault: vault.string, client: client)
  }

  /// The plain store of `domain` here. A transaction that was left between both stores is settled by asking the vault's file,
  /// for which no key is needed.
  ///
  /// - Parameters:
  ///   - domain: the domain's name, one path component.
  ///   - access: reading alone leaves no trace: no folder and no journal is made.
  ///   - overrides: what reads in place of stored values.
  /// - Throws: `StoreError` `.invalidName`, `.damaged`, `.denied`, `.io`.
  public func openDefaults(
    _ domain: String, access: DefaultsAccess = .readWrite, overrides: Overrides = .none
  ) throws(StoreError) -> DefaultsStore {
    try DefaultsStore.open(
      domain: domain, in: defaults, arguments: overrides.arguments, environment: overrides.environment, access: access,
      decisions: DecisionLookup(
        outcome: DecidedTransactions.outcome, settle: DecidedTransactions.settle, forget: DecidedTransactions.forget))
  }
}
