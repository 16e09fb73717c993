public import CofferPlatform
public import CofferStorage
internal import CofferVaultFormat

/// The vault as a store: the items of one service, addressed by account. Holds the vault locked or unlocked; while it is
/// locked, every call throws ``/CofferPlatform/StoreError/Kind/locked``.
public final class VaultStore: DecidingStore {
  /// Serves the vault's route.
  public typealias R = Vault

  /// The service of these items: an app's domain.
  public let service: String
  /// The vault's path.
  public let place: String
  let held: HeldVault
  let observation = VaultObservation()

  /// A store over a locked vault.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/invalidName`` for a bad service name.
  public convenience init(service: String, vault: LockedVault) throws(StoreError) {
    try self.init(service: service, held: HeldVault(locked: vault))
  }

  /// A store that takes over an unlocked vault.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/invalidName`` for a bad service name.
  public convenience init(service: String, vault: consuming UnlockedVault) throws(StoreError) {
    try self.init(service: service, held: HeldVault(unlocked: vault))
  }

  private init(service: String, held: HeldVault) throws(StoreError) {
    self.service = try StoredName.check(service, as: "service")
    self.held = held
    place = held.place
    held.access.add(self) { [weak self] in self?.tellAccess() }
  }

  /// A store of another service's items in the same vault. Both are unlocked and locked together.
  ///
  /// ```swift
  /// let mail = try store.store(ofService: "smtp.example.com")
  /// ```
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/invalidName`` for a bad service name.
  public func store(ofService service: String) throws(StoreError) -> VaultStore { try VaultStore(service: service, held: held) }

  deinit { observation.feed?.end() }

  /// Unlocks all stores of this vault; does nothing if they are. Blocks for Argon2id if it tries a passphrase, along with
  /// all other calls, which could only fail as locked.
  ///
  /// - Throws: the errors of `unlock(with:)`; ``/CofferPlatform/StoreError/Kind/afterFork`` in a forked child
  ///   of a process with the vault unlocked.
  public func unlock(with credentials: consuming Credentials) throws(StoreError) {
    try held.unlock(with: credentials)
  }

  /// Waits for running calls, then wipes the keys for all stores of this vault. Does nothing if it is locked.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/reentrant`` inside an update closure, which it would wait for.
  public func lock() throws(StoreError) {
    try Reentrancy.check(place)
    held.lock()
  }

  /// Whether the vault is unlocked.
  public var isUnlocked: Bool { held.isUnlocked }

  /// - Parameter name: the item concerned, if any.
  func read<Result: Sendable>(
    about name: ItemName? = nil, _ body: (OpenVault) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    let core = try held.opened()
    do throws(StoreError) { return try core.read(about: name, body) } catch {
      throw held.lapsed(core, error)
    }
  }

  /// - Parameter mayQueue: whether another writer of a server may commit it, and `body` may run twice.
  func write<Result: Sendable>(
    with companion: (any CompanionWrites)? = nil, mayQueue: Bool = false,
    _ body: (OpenVault, inout Change) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    let core = try held.opened()
    do throws(StoreError) {
      return mayQueue ? try core.writeOrQueue(body) : try core.write(with: companion, body)
    } catch { throw held.lapsed(core, error) }
  }
}

extension VaultStore {
  /// The value of the item `name`; nil if there is none.
  public func load(_ name: String) throws(StoreError) -> SecretForm? {
    let item = try ItemName(service: service, account: name)
    return try read(about: item) { (vault) throws(StoreError) in
      try vault.items.get(item)?.form
    }
  }

  /// Several values from one moment.
  public func load(_ names: [String]) throws(StoreError) -> [Reading<Vault>] {
    try read { (vault) throws(StoreError) in try vault.items.load(names, service: service) }
  }

  /// The accounts of the service's items, ascending.
  public func names() throws(StoreError) -> [String] {
    try read { (vault) throws(StoreError) in
      try vault.find(ItemQuery(service: service)).names(of: service, prefix: "")
    }
  }

  /// Stores `form` as the item `name`, or removes the item if `form` is nil.
  public func save(_ form: SecretForm?, for name: String) throws(StoreError) {
    let item = try ItemName(service: service, account: name)
    try telling(mayQueue: true) { (vault, change) throws(StoreError) in
      guard let form else { return try vault.items.removals.remove(item, &change) ? [name: .removed] : [:] }
      _ = try vault.items.put(form, for: item, if: .always, &change)
      return [name: .set]
    }
  }

  /// Reads, changes and writes in one SQLite transaction.
  public func update(_ name: String, _ body: (SecretForm?) throws(StoreError) -> SecretForm?) throws(StoreError) {
    let item = try ItemName(service: service, account: name)
    try telling { (vault, change) throws(StoreError) in
      let old = try vault.items.get(item)?.form
      let new = try Reentrancy.inside { () throws(StoreError) in try body(old) }
      guard let new else { return try vault.items.removals.remove(item, &change) ? [name: .removed] : [:] }
      _ = try vault.items.put(new, for: item, if: .always, &change)
      return [name: .set]
    }
  }

  /// Commits all of `batch` in one SQLite transaction, or nothing. A vault decides transactions and is never prepared.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/unsupported`` for a `decision`.
  public func commit(_ batch: Batch<Vault>, decision: Decision?) throws(StoreError) {
    guard decision == nil else {
      throw StoreError(
        .unsupported, "a vault cannot wait for another store's decision", place: place,
        cure: "prepare the plain store and let the vault decide")
    }
    if let transaction = batch.forgets { return try forget(transaction) }
    try telling(with: batch.companion) { (vault, change) throws(StoreError) in
      let effects = try vault.items.effects(of: batch, service: service)
      try vault.items.apply(batch, service: service, &change)
      return effects
    }
  }

  /// Changes to the items of ``service``: commits through this store immediately, all others once the vault's files change.
  /// While the vault is locked, changes by others have no names; unlocking and locking send ``ChangeFeed/Event/access``.
  public var changes: ChangeFeed { observation.feed(of: self) }

  /// The vault's record of transactions, readable without a key. A vault on a server shares its transactions with the rest of the
  /// database.
  public var decisions: DecisionLookup? {
    var lookup = DecidedTransactions.lookup
    lookup.sharesTransactions = held.vaultPlace.url != nil
    return lookup
  }

  private func forget(_ transaction: TransactionID) throws(StoreError) {
    let core = try held.opened()
    do throws(StoreError) { try core.run { (vault) throws(StoreError) in try vault.forget(transaction) } } catch {
      throw held.lapsed(core, error)
    }
  }
}
