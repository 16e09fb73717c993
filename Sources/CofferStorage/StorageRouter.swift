public import CofferPlatform
public import Synchronization

/// The only place that picks a store: a key's route decides whether its value goes to the plain store or to the vault.
///
/// Calls may come from any thread. In asynchronous code, calls that may wait are asynchronous. While the vault is locked, calls
/// on its keys throw ``/CofferPlatform/StoreError/Kind/locked``; plain keys never need the vault.
public final class StorageRouter: Sendable {
  /// The store of preferences.
  public let plain: any LayeredStore
  /// The store of secrets.
  public let vault: any DecidingStore
  // The same two for code that is generic over routes.
  @usableFromInline let plainStore: any Store<Plain>
  @usableFromInline let vaultStore: any Store<Vault>
  /// The keys that were given at open, by name.
  public var declared: [String: any DeclaredKey] { keys.byName }
  /// Those keys, and the families.
  package let keys: DeclaredKeys
  private let claim: KeyClaim
  /// What follows keys, and ends when the router is closed.
  let sequences = Handler<Void>()
  let migrator = Migrator()
  @usableFromInline package let id: UInt64
  private static let lastID = Atomic<UInt64>(0)

  /// A router over two stores. It moves values that an older program stored under a former name, as a former type, or in the
  /// clear: see ``migrations``.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/duplicateKey`` naming both places if two keys share a name, or if another
  ///   living router over the same domain or service has a key of that name and another type;
  ///   ``/CofferPlatform/StoreError/Kind/invalidName``; ``/CofferPlatform/StoreError/Kind/refused`` if an override or a
  ///   registered value of the plain store names a key of the vault.
  public convenience init(
    plain: some LayeredStore, vault: some DecidingStore, keys spaces: any KeySpace...
  ) throws(StoreError) {
    try self.init(plain: plain, vault: vault, spaces: spaces)
  }

  /// A router over two stores, with the spaces in an array.
  public init(plain: some LayeredStore, vault: some DecidingStore, spaces: [any KeySpace]) throws(StoreError) {
    (self.plain, plainStore) = (plain, plain)
    (self.vault, vaultStore) = (vault, vault)
    id = Self.lastID.add(1, ordering: .relaxed).newValue
    if let decisions = vault.decisions { plain.settle(with: decisions) }
    keys = try DeclaredKeys(spaces)
    claim = try KeyClaim(keys, plain, vault)
    for key in keys.byName.values.sorted(by: { $0.name < $1.name }) { try refuseUnstoredSecret(key) }
    for name in plain.layers.unstoredNames().sorted() {
      if let family = keys.family(of: name) {
        try refuseUnstoredSecret(family.member(named: name))
      }
    }
    migrateAtOpen()
  }

  /// A router that keeps everything in memory, secrets in guarded memory: for tests and previews.
  public static func inMemory(keys spaces: any KeySpace...) throws(StoreError) -> StorageRouter {
    try StorageRouter(plain: MemoryStore<Plain>(), vault: MemoryStore<Vault>(), spaces: spaces)
  }

  /// A value on a command line, in an environment or in source is no secret any more, and reads of a key of the vault would not
  /// see it.
  func refuseUnstoredSecret(_ key: any DeclaredKey) throws(StoreError) {
    guard key.traits.isSecret, let source = plain.layers.unstoredSource(key.name) else { return }
    throw StoreError(
      .refused, "\(source) has a value for a key of the vault, declared at \(key.site)", key: key.name,
      cure: "take the value away, and change it if it was the secret; set it only through the vault")
  }

  /// Throws unless `key` was among the spaces given at open. Costs one atomic load after the first time.
  @inlinable
  package func admit<V, R>(_ key: StorageKey<V, R>) throws(StoreError) {
    if key.declaration.admittedBy.load(ordering: .relaxed) != id { try admitForTheFirstTime(key) }
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
      .undeclared, "it is not among the key spaces given at open; declared at \(key.site)", key: key.name,
      cure:
        "make it a stored property of a key space that the router's keys: argument gets, or have that space's declaredKeys "
        + "return it: "
        + "static and computed properties, collections and spaces within a space are not seen")
  }

  @usableFromInline
  func admitForTheFirstTime<V, R>(_ key: StorageKey<V, R>) throws(StoreError) {
    guard declares(key) else { throw undeclared(key) }
    try checkMember(key)
    try settle(key)
    key.declaration.admittedBy.store(id, ordering: .relaxed)
  }
}

extension StorageRouter {
  /// The declarations of this router's keys and families, for a program to write. It opens nothing, and holds no stored value.
  public var schema: Schema { Schema(keys) }

  /// The declared plain keys, and families of keys, of text or data whose names read like those of credentials: declare them with
  /// `secret:`, and the stored values move into the vault.
  public var credentialLikeKeys: [any DeclaredKey] {
    let texts: [any DeclaredKey] =
      declared.values.filter { ($0 as? any OpenedKey)?.isReadableText == true } + keys.families.filter(\.isReadableText)
    return texts.filter { StoredName.looksLikeCredential($0.name) }.sorted { $0.name < $1.name }
  }
}

extension StorageRouter {
  /// Forbidden: it would put secrets into the plain store.
  @available(
    *, unavailable,
    message: "the stores are swapped: plain: takes the store of preferences, vault: the store of secrets"
  )
  public convenience init(plain: some DecidingStore, vault: some LayeredStore, keys spaces: any KeySpace...) {
    fatalError("unavailable")
  }
}

extension StorageRouter {
  /// The values that a program registers for its preferences when it opens a router: what a key reads as while neither the domain
  /// nor a suite has a value. They stand in the source, so there are none for secrets, and they are not stored.
  ///
  /// ```swift
  /// let app = try StorageRouter.open("com.example.app", keys: keys) { $0.register(30, for: keys.refreshSeconds) }
  /// ```
  ///
  /// A registered value stands before the default that the key itself declares: a program registers what only it knows, the size
  /// of a screen for example, for keys that are declared elsewhere.
  public struct Registration {
    private var forms: [String: PlainForm] = [:]
    private var keys: [any DeclaredKey] = []
    private var failure: StoreError?

    package init() {}

    /// Registers `value` for `key`; the last one counts, and nil is none. A value that cannot be encoded, or a key that is in
    /// none of the router's spaces, is what opening the router throws.
    public mutating func register<Value>(_ value: Value, for key: StorageKey<Value, Plain>) {
      keys.append(key)
      do throws(StoreError) { forms[key.name] = try key.form(of: value) } catch { failure = failure ?? error }
    }

    /// Forbidden: a secret in source is no secret.
    @available(
      *, unavailable,
      message: "a registered value stands in the source, and a secret in source is none: set the key instead"
    )
    public mutating func register<Value>(_ value: Value, for key: StorageKey<Value, Vault>) { fatalError("unavailable") }

    /// The registered values, for a router with `spaces`.
    ///
    /// - Throws: `.undeclared`, and the error of encoding a value.
    package func forms(of spaces: [any KeySpace]) throws(StoreError) -> [String: PlainForm] {
      if let failure { throw failure }
      let declared = spaces.flatMap(\.declaredKeys)
      for key in keys where !declared.contains(where: { $0.site == key.site && $0.owns(key.name) }) {
        throw StoreError(
          .undeclared, "a value is registered for a key that is not among the key spaces given at open; declared at \(key.site)",
          key: key.name, cure: "give its key space to the router's keys: argument too")
      }
      return forms
    }
  }
}
