public import CofferPlatform
public import CofferStorage
public import CofferVaultFormat
public import FoundationEssentials

// The compiler chooses these in asynchronous code. They throw the errors of the synchronous forms, and `.cancelled` if the task
// is cancelled during a wait. Nothing has changed then. A vault is locked in a cancelled task too.
extension UnlockedVault {
  /// Runs `body` where it may wait for the disk and for others, or in place if it need not wait.
  ///
  /// ```swift
  /// try await vault.perform { vault throws(StoreError) in try vault.rotate(keeping: credentials) }
  /// ```
  ///
  /// - Parameters:
  ///   - limit: the longest wait for other writers; by default that of the synchronous forms.
  ///   - body: makes one call. With several calls it may run twice.
  /// - Throws: the error of `body`; ``/CofferPlatform/StoreError/Kind/cancelled`` if the task is cancelled during a wait.
  nonisolated(nonsending) public borrowing func perform<Result: Sendable>(
    within limit: Duration? = nil, _ body: @escaping @Sendable (borrowing UnlockedVault) throws(StoreError) -> Result
  ) async throws(StoreError) -> Result {
    let core = core
    return try await CallQueues.call(within: limit) { () throws(StoreError) in try body(UnlockedVault(lending: core)) }
  }

  /// A call of `body` for later, on any thread. Once the owner has locked the vault, its next read or write throws
  /// ``/CofferPlatform/StoreError/Kind/closed``.
  package borrowing func lent<Result>(
    to body: @escaping @Sendable (borrowing UnlockedVault) throws(StoreError) -> Result
  ) -> @Sendable () throws(StoreError) -> Result {
    let core = core
    return { () throws(StoreError) in try body(UnlockedVault(lending: core)) }
  }

  /// The asynchronous form of ``get(_:)``.
  nonisolated(nonsending) public borrowing func get(_ name: ItemName) async throws(StoreError) -> SecretForm? {
    try await perform { (vault) throws(StoreError) in try vault.get(name) }
  }

  /// The asynchronous form of ``item(_:)``.
  nonisolated(nonsending) public borrowing func item(_ name: ItemName) async throws(StoreError) -> VaultItem? {
    try await perform { (vault) throws(StoreError) in try vault.item(name) }
  }

  /// The asynchronous form of ``list(service:)``.
  nonisolated(nonsending) public borrowing func list(service: String? = nil) async throws(StoreError) -> [VaultItem] {
    try await perform { (vault) throws(StoreError) in try vault.list(service: service) }
  }

  /// The asynchronous form of ``set(_:for:if:keeping:)``.
  @discardableResult
  nonisolated(nonsending) public borrowing func set(
    _ form: SecretForm, for name: ItemName, if condition: WriteCondition = .always, keeping: Int? = nil
  ) async throws(StoreError) -> VaultItem {
    try await perform { (vault) throws(StoreError) in try vault.set(form, for: name, if: condition, keeping: keeping) }
  }

  /// The asynchronous form of ``set(_:label:for:)``.
  @discardableResult
  nonisolated(nonsending) public borrowing func set(
    _ secret: consuming SecretBytes, label: String = "", for name: ItemName
  ) async throws(StoreError) -> VaultItem {
    try await set(SecretForm(secret, metadata: ItemMetadata(label: label)), for: name)
  }

  /// The asynchronous form of ``remove(_:if:keptUntil:)``.
  @discardableResult
  nonisolated(nonsending) public borrowing func remove(
    _ name: ItemName, if condition: WriteCondition = .always, keptUntil date: Date? = nil
  ) async throws(StoreError) -> Bool {
    try await perform { (vault) throws(StoreError) in try vault.remove(name, if: condition, keptUntil: date) }
  }

  /// The asynchronous form of ``apply(_:)``.
  @discardableResult
  nonisolated(nonsending) public borrowing func apply(_ changes: [ItemChange]) async throws(StoreError) -> [VaultItem] {
    try await perform { (vault) throws(StoreError) in try vault.apply(changes) }
  }

  /// The asynchronous form of ``lock()``. The vault is locked even if it throws.
  nonisolated(nonsending) public consuming func lock() async throws(StoreError) -> LockedVault {
    let core = core
    return try await CallQueues.run(at: core.place.description, within: nil, endsWithTask: false) { () throws(StoreError) in
      core.close()
      return try LockedVault.open(core.place, options: core.options)
    }
  }
}

extension LockedVault {
  /// The asynchronous form of ``unlock(with:)``. Cancellation does not interrupt the hash of a passphrase.
  nonisolated(nonsending) public func unlock(with credentials: consuming Credentials) async throws(StoreError) -> UnlockedVault {
    let given = Handover(credentials)
    return try await CallQueues.run(at: place.description, within: nil) { () throws(StoreError) in
      Handover(try self.unlock(with: given.take()))
    }.take()
  }
}

extension VaultStore {
  /// The asynchronous form of ``unlock(with:)``.
  nonisolated(nonsending) public func unlock(with credentials: consuming Credentials) async throws(StoreError) {
    let given = Handover(credentials)
    try await CallQueues.run(at: place, within: nil) { () throws(StoreError) in try self.unlock(with: given.take()) }
  }

  /// The asynchronous form of ``lock()``.
  nonisolated(nonsending) public func lock() async throws(StoreError) {
    try await CallQueues.run(at: place, within: nil, endsWithTask: false) { () throws(StoreError) in try self.lock() }
  }
}
