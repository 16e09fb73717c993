public import CofferPlatform
public import Synchronization

/// The only place that picks a store: a key's route decides whether its value goes to the plain store or to the vault.
///
/// All calls are synchronous and may come from any thread. A locked vault makes calls on its keys throw
/// ``/CofferPlatform/StoreError/Kind/locked``; plain keys never need the vault.
public final class StorageRouter: Sendable {
  /// The store of preferences.
  public let plain: any Store<Plain>
  /// The store of secrets.
  public let vault: any Store<Vault>
  /// The keys that were given at open, by name.
  public let declared: [String: any DeclaredKey]
  /// The families that were given at open. No two own the same name.
  let families: [any OpenedFamily]
  /// What follows keys, and ends when the router is closed.
  let sequences = Handler<Void>()
  let migrator = Migrator()
  @usableFromInline let id: UInt64
  private static let lastID = Atomic<UInt64>(0)

  /// A router over two stores. What an older program stored under a former name, as a former type, or in the clear, is moved to where
  /// the keys say: see ``migrations``.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/duplicateKey`` naming both places when two keys share a name; ``/CofferPlatform/StoreError/Kind/invalidName``;
  ///   ``/CofferPlatform/StoreError/Kind/refused`` when an override or a registered value of the plain store names a key of the vault.
  public convenience init(plain: any Store<Plain>, vault: any Store<Vault>, keys spaces: any KeySpace...) throws(StoreError) {
    try self.init(plain: plain, vault: vault, spaces: spaces)
  }

  /// A router over two stores, with the spaces in an array.
  public init(plain: any Store<Plain>, vault: any Store<Vault>, spaces: [any KeySpace]) throws(StoreError) {
    self.plain = plain
    self.vault = vault
    (declared, families) = try Self.list(spaces)
    for key in declared.values.sorted(by: { $0.name < $1.name }) { try Self.refuseUnstoredSecret(key, plain) }
    id = Self.lastID.add(1, ordering: .relaxed).newValue
    migrateAtOpen()
  }

  /// A router that keeps everything in memory, secrets in guarded memory: for tests and previews.
  public static func inMemory(keys spaces: any KeySpace...) throws(StoreError) -> StorageRouter {
    try StorageRouter(plain: MemoryStore<Plain>(), vault: MemoryStore<Vault>(), spaces: spaces)
  }

  private static func list(_ spaces: [any KeySpace]) throws(StoreError) -> ([String: any DeclaredKey], [any OpenedFamily]) {
    var declared: [String: any DeclaredKey] = [:]
    let all = spaces.flatMap(\.declaredKeys)
    let keys = all.filter { !($0 is any OpenedFamily) }
    for key in keys {
      try check(key)
      if let other = declared.updateValue(key, forKey: key.name) {
        throw StoreError(
          .duplicateKey, "declared twice: at \(other.site) and at \(key.site)", key: key.name,
          cure: "give one of them another name, or share one declaration")
      }
    }
    var claimed: [String: any DeclaredKey] = [:]
    for key in keys {
      for name in key.traits.formerNames {
        guard let other = declared[name] ?? claimed.updateValue(key, forKey: name) else { continue }
        throw StoreError(
          .duplicateKey, "a former name of the key declared at \(key.site) is claimed at \(other.site) too", key: name,
          cure: "let one key alone take over what is stored under it")
      }
    }
    let families = all.compactMap { $0 as? any OpenedFamily }
    try checkFamilies(families, declared)
    return (declared, families)
  }

  private static func check(_ key: any DeclaredKey) throws(StoreError) {
    for name in [key.name] + key.traits.formerNames {
      do { try StoredName.check(name) } catch {
        throw StoreError(error.kind, "\(error.what), declared at \(key.site)", cure: error.cure)
      }
      guard ReservedName.all.contains(name) else { continue }
      throw StoreError(
        .invalidName, "a name that Coffer keeps for itself, declared at \(key.site)", key: name,
        cure: "give the key another name")
    }
  }

  /// What stands on a command line, in an environment or in source is no secret any more, and reads of a key of the vault would
  /// not see it.
  static func refuseUnstoredSecret(_ key: any DeclaredKey, _ plain: any Store<Plain>) throws(StoreError) {
    guard key.traits.isSecret, let source = plain.unstoredSource(of: key.name) else { return }
    throw StoreError(
      .refused, "\(source) has a value for a key of the vault, declared at \(key.site)", key: key.name,
      cure: "take the value away, and change it if it was the secret; it is set through the vault alone")
  }

  /// Throws unless `key` was among the spaces given at open. Costs one atomic load after the first time.
  @inlinable
  package func admit<V, R>(_ key: StorageKey<V, R>, overwriting: Bool = false) throws(StoreError) {
    if key.declaration.admittedBy.load(ordering: .relaxed) != id { try admitForTheFirstTime(key, overwriting) }
  }

  /// Why `key` is none of this router's.
  package func undeclared(_ key: any DeclaredKey) -> StoreError {
    if let known = declared[key.name] {
      return StoreError(
        .undeclared, "declared at \(key.site); the router has the key of that name that is declared at \(known.site)",
        key: key.name,
        cure: "use that key, with its type, or give one of them another name")
    }
    return StoreError(
      .undeclared, "not among the key spaces given at open; declared at \(key.site)", key: key.name,
      cure:
        "make it a stored property of a key space that the router's keys: argument gets, or have that space's declaredKeys return it: "
        + "static and computed properties, collections and spaces within a space are not seen")
  }

  @usableFromInline
  func admitForTheFirstTime<V, R>(_ key: StorageKey<V, R>, _ overwriting: Bool) throws(StoreError) {
    guard declares(key) else { throw undeclared(key) }
    try checkMember(key)
    try settle(key, overwriting: overwriting)
    key.declaration.admittedBy.store(id, ordering: .relaxed)
  }
}
