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
    if let engine = held.withLock({ held in Self.engine(held) }) { drop(engine) }
  }

  /// Holds the vault locked from now on, if `engine` is what is held.
  private func drop(_ engine: VaultEngine) {
    // What was held is closed outside of the mutex: closing waits for running calls, and a call may be asking this store.
    let dropped = held.withLock { held -> Held? in
      guard Self.engine(held) === engine else { return nil }
      let dropped = consume held
      held = .locked(engine.locked)
      return dropped
    }
    _ = consume dropped
    engine.close()
    tellAccess()
  }

  /// Whether calls are answered.
  public var isUnlocked: Bool {
    held.withLock { held in Self.engine(held) != nil }
  }

  private static func engine(_ held: borrowing Held) -> VaultEngine? {
    switch held {
    case .unlocked(let vault): vault.engine
    case .locked: nil
    }
  }

  func run<Result: Sendable>(_ body: (OpenVault) throws(StoreError) -> Result) throws(StoreError) -> Result {
    try Reentrancy.check(place)
    guard let engine = held.withLock({ held in Self.engine(held) }) else {
      throw StoreError(.locked, "the vault is locked", place: place, cure: "unlock it, then try again")
    }
    do throws(StoreError) { return try engine.run(body) } catch {
      // Locked by another thread in between, or of no more use: either way unlocking is what helps.
      guard error.kind == .closed || (error.kind == .locked && !engine.isOpen) else { throw error }
      drop(engine)
      guard error.kind == .closed else { throw error }
      throw StoreError(
        .locked, "the vault is locked", place: place, cure: "unlock it, then try again", underlying: error.underlying)
    }
  }
}

extension VaultStore {
  /// The value of the item `name`; nil when there is none.
  public func load(_ name: String) throws(StoreError) -> SecretForm? {
    let item = try ItemName(service: service, account: name)
    return try run { (vault) throws(StoreError) in
      try vault.reading { () throws(StoreError) in try vault.get(item)?.form }
    }
  }

  /// Several values from one moment.
  public func load(_ names: [String]) throws(StoreError) -> [Reading<Vault>] {
    try run { (vault) throws(StoreError) in
      try vault.reading { () throws(StoreError) in
        var readings: [Reading<Vault>] = []
        for name in names {
          do throws(StoreError) {
            let found = try vault.get(ItemName(service: service, account: name))
            readings.append(Reading(form: found?.form, stamp: found?.version ?? .absent))
          } catch { throw error.about(key: name) }
        }
        return readings
      }
    }
  }

  /// Whether there is an item `name`, expired or not.
  public func contains(_ name: String) throws(StoreError) -> Bool {
    let item = try ItemName(service: service, account: name)
    return try run { (vault) throws(StoreError) in
      try vault.reading { () throws(StoreError) in try vault.version(of: item) != .absent }
    }
  }

  /// The accounts of the service's items, ascending.
  public func names() throws(StoreError) -> [String] {
    try run { (vault) throws(StoreError) in
      try vault.reading { () throws(StoreError) in try vault.list(service: service).map(\.name.account) }
    }
  }

  /// Read, change and write in one SQLite transaction.
  public func update(_ name: String, _ body: (SecretForm?) throws(StoreError) -> SecretForm?) throws(StoreError) {
    let item = try ItemName(service: service, account: name)
    try telling { (vault) throws(StoreError) in
      try vault.writing { (change) throws(StoreError) in
        let old = try vault.get(item)?.form
        let new = try Reentrancy.inside { () throws(StoreError) in try body(old) }
        guard let new else { return try vault.remove(item, &change) ? [name: .removed] : [:] }
        _ = try vault.put(new, for: item, if: .always, &change)
        return [name: .set]
      }
    }
  }

  /// All of `batch` in one SQLite transaction, or nothing. A vault decides transactions and is never prepared.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/refused`` when a `decision` is given.
  public func commit(_ batch: Batch<Vault>, decision: Decision?) throws(StoreError) {
    guard decision == nil else {
      throw StoreError(
        .refused, "a vault cannot wait for another store's decision", place: place,
        cure: "prepare the plain store and let the vault decide")
    }
    try telling { (vault) throws(StoreError) in
      try vault.writing { (change) throws(StoreError) in
        let effects = try vault.effects(of: batch, service: service)
        try vault.apply(batch, service: service, &change)
        return effects
      }
    }
  }

  /// What is told of changes to the items of ``service``: this process's commits through this store as they are made, all others
  /// as soon as the vault's files change. While the vault is locked the others cannot be told by name: unlocking it, as locking
  /// does, tells ``ChangeFeed/Event/access``.
  public var changes: ChangeFeed { observation.feed(of: self) }

  /// Drops the record of a decided transaction.
  public func forget(_ transaction: TransactionID) throws(StoreError) {
    try run { (vault) throws(StoreError) in try vault.forget(transaction) }
  }
}
