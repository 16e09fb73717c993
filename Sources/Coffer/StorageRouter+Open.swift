public import CofferAgent
public import CofferDefaults
public import CofferPlatform
public import CofferStorage
public import CofferVault

extension StorageRouter {
  /// A router for the app `domain`: preferences in its property list, secrets in the standard vault, which stays locked.
  ///
  /// Without a vault, plain keys work and calls on keys of the vault throw ``/CofferPlatform/StoreError/Kind/noVault``.
  ///
  /// ```swift
  /// let app = try StorageRouter.open("com.example.app", keys: AppKeys())
  ///
  /// let app = try StorageRouter.open("com.example.app", keys: keys, suites: ["com.example.shared"]) {
  ///   $0.register(30, for: keys.refreshSeconds)
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - domain: the app's name, one path component. It names the property list and the service of the vault's items.
  ///   - spaces: every key space that will be used with this router.
  ///   - suites: further domains, asked in this order for values that the app's own does not have.
  ///   - places: the places of the files; see ``/Coffer/Places/standard(_:)``.
  ///   - overrides: values that replace stored preferences; by default `-key value` on this process's command line.
  ///   - register: sets values for keys without any other; see ``/CofferStorage/StorageRouter/Registration``.
  /// - Throws: ``/CofferPlatform/StoreError`` `.duplicateKey`, `.invalidName`, `.refused` for an override of a key of the
  ///   vault and for the domain `coffer.settings`, `.undeclared` for a registered key that is in no space, and the errors of
  ///   opening either store.
  public static func open(
    _ domain: String, keys spaces: any KeySpace..., suites: [String] = [], places: Places? = nil,
    overrides: Overrides = .commandLine, register: (inout Registration) -> Void = { _ in }
  ) throws(StoreError) -> StorageRouter {
    let places = try places.orStandard()
    let vault: any DecidingStore
    do { vault = try VaultStore(service: domain, vault: places.openVault()) } catch {
      guard error.kind == .noVault else { throw error }
      vault = AbsentVault(refusal: error)
    }
    return try open(domain, spaces, vault, suites, places, overrides, register)
  }

  /// A router for the app `domain` over the standard vault, unlocked with `credentials`: for a server.
  ///
  /// ```swift
  /// let app = try StorageRouter.open("com.example.app", keys: AppKeys(), credentials: .standard())
  /// ```
  ///
  /// - Throws: the errors of unlocking: ``/CofferPlatform/StoreError`` `.noVault`, `.wrongSecret` and the others of
  ///   `unlock(with:)`; the errors of opening a router over an unlocked vault.
  public static func open(
    _ domain: String, keys spaces: any KeySpace..., credentials: consuming Credentials, suites: [String] = [],
    places: Places? = nil, overrides: Overrides = .commandLine, register: (inout Registration) -> Void = { _ in }
  ) throws(StoreError) -> StorageRouter {
    let places = try places.orStandard()
    let vault = try VaultStore(service: domain, vault: places.openVault().unlock(with: credentials))
    return try open(domain, spaces, vault, suites, places, overrides, register)
  }

  /// A router for the app `domain` over an open vault, which it takes over.
  ///
  /// ```swift
  /// let vault = try Places.standard().openVault().unlock(with: Credentials(keyFileAt: path))
  /// let app = try StorageRouter.open("com.example.app", keys: AppKeys(), vault: vault)
  /// ```
  ///
  /// - Throws: ``/CofferPlatform/StoreError`` `.duplicateKey`, `.invalidName`, `.refused` for an override of a key of the
  ///   vault, `.undeclared` for a registered key that is in no space, and the errors of opening the property list.
  public static func open(
    _ domain: String, keys spaces: any KeySpace..., vault: consuming UnlockedVault, suites: [String] = [],
    places: Places? = nil, overrides: Overrides = .commandLine, register: (inout Registration) -> Void = { _ in }
  ) throws(StoreError) -> StorageRouter {
    try open(domain, spaces, VaultStore(service: domain, vault: vault), suites, places, overrides, register)
  }

  /// A router for the app `domain` over the caller's store of secrets: a ``/CofferVault/VaultStore``, which the caller may
  /// unlock and lock, or the user's agent, which needs no credentials from this program.
  ///
  /// ```swift
  /// let places = try Places.standard()
  /// let app = try StorageRouter.open("com.example.app", keys: AppKeys(), vault: places.agentStore(service: "com.example.app"))
  /// ```
  ///
  /// - Throws: ``/CofferPlatform/StoreError`` `.duplicateKey`, `.invalidName`, `.refused` for an override of a key of the
  ///   vault, `.undeclared` for a registered key that is in no space, and the errors of opening the property list.
  public static func open(
    _ domain: String, keys spaces: any KeySpace..., vault: any DecidingStore, suites: [String] = [], places: Places? = nil,
    overrides: Overrides = .commandLine, register: (inout Registration) -> Void = { _ in }
  ) throws(StoreError) -> StorageRouter {
    try open(domain, spaces, vault, suites, places, overrides, register)
  }

  private static func open(
    _ domain: String, _ spaces: [any KeySpace], _ vault: any DecidingStore, _ suites: [String], _ places: Places?,
    _ overrides: Overrides, _ register: (inout Registration) -> Void
  ) throws(StoreError) -> StorageRouter {
    guard domain != Places.settingsDomain else {
      throw StoreError(
        .refused, "the domain '\(domain)' holds the settings of Coffer itself", key: domain, cure: "choose another domain")
    }
    var registration = Registration()
    register(&registration)
    let registered = try registration.forms(of: spaces)
    let plain = try places.orStandard().openDefaults(domain, suites: suites, registered: registered, overrides: overrides)
    return try StorageRouter(plain: plain, vault: vault, spaces: spaces)
  }

  /// Returns once everything written through this router survives a power loss and is visible to other programs.
  ///
  /// - Throws: ``/CofferPlatform/StoreError`` `.noSpace`, `.readOnly`, `.io`.
  public func synchronize() throws(StoreError) {
    try plain.synchronize()
  }

  /// Ends all observation through this router, writes acknowledged values, and closes the plain store: later calls on plain
  /// keys throw ``/CofferPlatform/StoreError/Kind/closed``. The vault stays unchanged; its owner locks it.
  ///
  /// - Throws: the errors of ``/CofferDefaults/DefaultsStore/close()``; the store is closed even then.
  public func close() throws(StoreError) {
    endWaits()
    endObservation()
    try plain.close()
  }

  /// The asynchronous form of ``synchronize()``.
  ///
  /// - Parameter limit: the longest wait for others' folds; by default that of the synchronous form.
  /// - Throws: the errors of the synchronous form; ``/CofferPlatform/StoreError/Kind/cancelled`` or
  ///   ``/CofferPlatform/StoreError/Kind/closed`` if the task is cancelled or the router closed during the wait. Every value
  ///   is stored even then.
  nonisolated(nonsending) public func synchronize(within limit: Duration? = nil) async throws(StoreError) {
    try await CallQueues.call(within: limit, of: id) { () throws(StoreError) in try self.synchronize() }
  }

  /// The asynchronous form of ``close()``. It closes in a cancelled task too.
  ///
  /// - Throws: the errors of the synchronous form; the store is closed even then.
  nonisolated(nonsending) public func close() async throws(StoreError) {
    endWaits()
    try await CallQueues.call(within: nil, endsWithTask: false) { () throws(StoreError) in try self.close() }
  }
}

extension Places? {
  func orStandard() throws(StoreError) -> Places {
    guard let self else { return try Places.standard() }
    return self
  }
}

extension Places {
  /// The options for vaults here: the rollback pins of this user on this machine, and one passphrase hash at a time.
  public var vaultOptions: VaultOptions { VaultOptions(pins: pins, lockFolder: run) }

  /// The folder of this machine's memory of vaults and of their remotes.
  public var pins: FilePath { state.appending("pins") }

  /// The same, with the expected vault from the environment: see ``/CofferVault/VaultOptions/expect(_:)``. The variable may
  /// have the absolute path of a file, in which invitations may have lines of their own.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/invalidName`` if the variable names no vault; for a file also `.io`,
  ///   `.tooLarge`, and `.denied` if another user can change it.
  package func expectingOptions() throws(StoreError) -> VaultOptions {
    var options = vaultOptions
    if let expectation { try options.expect(expectation.hasPrefix("/") ? Self.content(of: expectation) : expectation) }
    return options
  }

  private static func content(of path: String) throws(StoreError) -> String {
    let file = try SecretFile.content(
      of: TrustedPath.publicFile(FilePath(path)), limit: SecretFile.largestIdentity, what: "the file of invitations",
      warning: false)
    return file.withUnsafeBytes { bytes in String(decoding: bytes.map { $0 < 0x20 ? 0x20 : $0 }, as: UTF8.self) }
  }

  /// The vault here, locked. If `COFFER_EXPECT_VAULT` was set when these places were found, any other vault is refused.
  ///
  /// - Throws: the errors of ``/CofferVault/LockedVault/open(_:options:)`` and ``/CofferVault/VaultOptions/expect(_:)``.
  public func openVault() throws(StoreError) -> LockedVault { try LockedVault.open(vault, options: expectingOptions()) }

  /// The items of one service in the vault here, through the user's agent, which this call does not contact. Without an
  /// agent, later calls throw ``/CofferPlatform/StoreError/Kind/locked``.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/invalidName``.
  public func agentStore(service: String) throws(StoreError) -> AgentStore {
    let client = try AgentClient(folder: run, vault: vault, options: expectingOptions())
    return try AgentStore(service: service, vault: vault, client: client)
  }

  /// The plain store of `domain` here. It settles a transaction left between both stores from the vault's file, without a
  /// key.
  ///
  /// - Parameters:
  ///   - domain: the domain's name, one path component.
  ///   - suites: further domains, asked in this order for values that the domain does not have.
  ///   - registered: values for keys without any other.
  ///   - access: read-only access makes no folder and no journal.
  ///   - overrides: values that replace stored ones.
  /// - Throws: `StoreError` `.invalidName`, `.damaged`, `.denied`, `.io`.
  public func openDefaults(
    _ domain: String, suites: [String] = [], registered: [String: PlainForm] = [:], access: DefaultsAccess = .readWrite,
    overrides: Overrides = .none
  ) throws(StoreError) -> DefaultsStore {
    let store = try DefaultsStore.open(
      domain: domain, in: defaults, suites: suites, registered: registered, arguments: overrides.arguments,
      environment: overrides.environment, access: access)
    store.settle(with: DecidedTransactions.lookup)
    return store
  }
}
