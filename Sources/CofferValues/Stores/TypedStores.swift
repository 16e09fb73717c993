internal import CofferDefaults
public import CofferStorage

/// The value of a type, in any plain store: the suite of an app, for example.
public struct PersistentStore<Default: DefaultConvertible>: DefaultStoreType {
  /// The value as a handle.
  public let handle: AnyPersistedValue<Default?>
  private let store: any Store<Plain>

  /// The value of `Default`'s key in `store`.
  public init(in store: any Store<Plain>) {
    self.store = store
    handle = store.persistedValue(for: StorageKey(Default.key, of: Default.self)).eraseToAnyPersistedValue()
  }

  /// Returns once what was set is on the disk.
  public func synchronize() throws(StoreError) {
    if let store = store as? DefaultsStore { try store.synchronize() }
  }
}

/// The value of a type, in memory alone. It is serialised all the same, so that a test exercises the conversion.
public struct InMemoryStore<Default: DefaultConvertible>: DefaultStoreType {
  /// The value as a handle.
  public let handle: AnyPersistedValue<Default?>

  /// An empty store.
  public init() { handle = PersistentStore(in: MemoryStore<Plain>()).handle }

  /// Returns once what was set is on the disk.
  public func synchronize() {}
}

/// The value of a type, in a store of which no more is known: for injection.
public struct AnyStore<Default: DefaultConvertible>: DefaultStoreType {
  private let base: any DefaultStoreType<Default>

  /// Hides what `store` is.
  public init(_ store: any DefaultStoreType<Default>) { base = store }

  /// The value as a handle.
  public var handle: AnyPersistedValue<Default?> { base.handle }
  /// Returns once what was set is on the disk.
  public func synchronize() throws(StoreError) { try base.synchronize() }
}
