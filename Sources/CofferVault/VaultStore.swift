public import CofferPlatform
public import CofferStorage
internal import Synchronization
internal import SystemPackage

/// The vault as a store: the items of one service, addressed by account. It holds the vault locked or unlocked; while it is
/// locked every call throws ``/CofferPlatform/StoreError/Kind/locked``.
public final class VaultStore: Store {
  /// Serves the vault's route.
  public typealias R = Vault

  private enum Held: ~Copyable, Sendable {
    case locked(LockedVault)
    case unlocked(UnlockedVault)
  }

  /// The service whose items these are: an app's domain.
  public let service: String
  /// The vault's path.
  public let place: String
  private let held: Mutex<Held>
  let observation = VaultObservation()

  /// A store over a locked vault.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/invalidName`` for a bad service name.
  public init(service: String, vault: LockedVault) throws(StoreError) {
    self.service = try StoredName.check(service, as: "service")
    place = vault.path.string
    held = Mutex(.locked(vault))
  }

  /// A store over an unlocked vault, which it takes over.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/invalidName`` for a bad service name.
  public init(service: String, vault: consuming UnlockedVault) throws(StoreError) {
    self.service = try StoredName.check(service, as: "service")
    place = vault.path.string
    held = Mutex(.unlocked(vault))
  }

  deinit { observation.feed?.end() }

  /// Unlocks; does nothing when the vault is unlocked already. Blocks for Argon2id where a passphrase is tried, and other
  /// calls with it: until it returns they could only be told that the vault is locked.
  ///
  /// - Throws: what ``LockedVault/unlock(with:)`` throws.
  public func unlock(with credentials: consuming Credentials) throws(StoreError) {
    var credentials = Optional(credentials)
    try held.withLock { (held) throws(StoreError) in
      let vault: LockedVault? =
        switch held {
        case .locked(let vault): vault
        case .unlocked: nil
        }
      guard let vault, let given = credentials.take() else { return }
      held = .unlocked(try vault.unlock(with: given))
    }
    tellAccess()
  }

  /// Waits for running calls, then wipes the keys. Does nothing when the vault is locked already.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/reentrant`` inside an update closure, which the wait would be for.
  public func lock() throws(StoreError) {
    try Reentrancy.check(place)
    if let core = held.withLock({ held in Self.core(held) }) { drop(core) }
  }

  /// Holds the vault locked from now on, if `core` is what is held.
  private func drop(_ core: VaultCore) {
    // What was held is closed outside of the mutex: closing waits for running calls, and a call may be asking this store.
    let dropped = held.withLock { held -> Held? in
      guard Self.core(held) === core else { return nil }
      let dropped = consume held
      held = .locked(core.locked)
      return dropped
    }
    _ = consume dropped
    core.close()
    tellAccess()
  }

  /// Whether calls are answered.
  public var isUnlocked: Bool {
    held.withLock { held in Self.core(held) != nil }
  }

  private static func core(_ held: borrowing Held) -> VaultCore? {
    switch held {
    case .unlocked(let vault): vault.core
    case .locked: nil
    }
  }

  /// Runs `body` in one read transaction of the unlocked vault.
  func read<Result: Sendable>(_ body: (OpenVault) throws(StoreError) -> Result) throws(StoreError) -> Result {
    let core = try opened()
    do throws(StoreError) { return try core.run { (vault) throws(StoreError) in try vault.read(body) } } catch {
      throw lapsed(core, error)
    }
  }

  /// Runs `body` in one write transaction of the unlocked vault.
  func write<Result: Sendable>(
    _ body: (OpenVault, inout Change) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    let core = try opened()
    do throws(StoreError) { return try core.write(body) } catch { throw lapsed(core, error) }
  }

  func opened() throws(StoreError) -> VaultCore {
    try Reentrancy.check(place)
    guard let core = held.withLock({ held in Self.core(held) }) else {
      throw StoreError(.locked, "the vault is locked", place: place, cure: "unlock it, then try again")
    }
    return core
  }

  /// The error to throw for one of `core`, which is locked from now on where the error says that it is of no more use.
  func lapsed(_ core: VaultCore, _ error: StoreError) -> StoreError {
    // Locked by another thread in between, or of no more use: either way unlocking is what helps.
    guard error.isEndOfUse || (error.kind == .locked && !core.isOpen) else { return error }
    drop(core)
    guard error.isEndOfUse else { return error }
    return StoreError(
      .locked, "the vault is locked", place: place, cure: "unlock it, then try again", underlying: error.underlying)
  }
}

extension StoreError {
  /// Whether it says that an open vault is of no more use.
  fileprivate var isEndOfUse: Bool { kind == .closed || kind == .moved }
}

extension VaultStore {
  /// The value of the item `name`; nil when there is none.
  public func load(_ name: String) throws(StoreError) -> SecretForm? {
    let item = try ItemName(service: service, account: name)
    return try read { (vault) throws(StoreError) in
      try vault.items.get(item)?.form
    }
  }

  /// Several values from one moment.
  public func load(_ names: [String]) throws(StoreError) -> [Reading<Vault>] {
    try read { (vault) throws(StoreError) in try vault.items.load(names, service: service) }
  }

  /// Whether there is an item `name`, expired or not.
  public func contains(_ name: String) throws(StoreError) -> Bool {
    let item = try ItemName(service: service, account: name)
    return try read { (vault) throws(StoreError) in
      try vault.items.version(of: item) != .absent
    }
  }

  /// The accounts of the service's items, ascending.
  public func names() throws(StoreError) -> [String] {
    try read { (vault) throws(StoreError) in
      try vault.items.list(service: service).map(\.name.account)
    }
  }

  /// Stores `form` as the item `name`, or removes the item where there is no form.
  public func save(_ form: SecretForm?, for name: String) throws(StoreError) {
    let item = try ItemName(service: service, account: name)
    try telling { (vault, change) throws(StoreError) in
      guard let form else { return try vault.items.remove(item, &change) ? [name: .removed] : [:] }
      _ = try vault.items.put(form, for: item, if: .always, &change)
      return [name: .set]
    }
  }

  /// Read, change and write in one SQLite transaction.
  public func update(_ name: String, _ body: (SecretForm?) throws(StoreError) -> SecretForm?) throws(StoreError) {
    let item = try ItemName(service: service, account: name)
    try telling { (vault, change) throws(StoreError) in
      let old = try vault.items.get(item)?.form
      let new = try Reentrancy.inside { () throws(StoreError) in try body(old) }
      guard let new else { return try vault.items.remove(item, &change) ? [name: .removed] : [:] }
      _ = try vault.items.put(new, for: item, if: .always, &change)
      return [name: .set]
    }
  }

  /// All of `batch` in one SQLite transaction, or nothing. A vault decides transactions and is never prepared.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/unsupported`` when a `decision` is given.
  public func commit(_ batch: Batch<Vault>, decision: Decision?) throws(StoreError) {
    guard decision == nil else {
      throw StoreError(
        .unsupported, "a vault cannot wait for another store's decision", place: place,
        cure: "prepare the plain store and let the vault decide")
    }
    try telling { (vault, change) throws(StoreError) in
      let effects = try vault.items.effects(of: batch, service: service)
      try vault.items.apply(batch, service: service, &change)
      return effects
    }
  }

  /// What is told of changes to the items of ``service``: this process's commits through this store as they are made, all others
  /// as soon as the vault's files change. While the vault is locked the others cannot be told by name: unlocking it, as locking
  /// does, tells ``ChangeFeed/Event/access``.
  public var changes: ChangeFeed { observation.feed(of: self) }

  /// Drops the record of a decided transaction.
  public func forget(_ transaction: TransactionID) throws(StoreError) {
    let core = try opened()
    do throws(StoreError) { try core.run { (vault) throws(StoreError) in try vault.forget(transaction) } } catch {
      throw lapsed(core, error)
    }
  }
}
