public import CofferPlatform
public import CofferStorage

/// The value of a type, in any plain store, for example an app's suite.
public struct PersistentStore<Default: DefaultConvertible>: DefaultStoreType {
  /// The value as a handle.
  public let handle: AnyPersistedValue<Default?>
  /// The value as a subject that reports its changes.
  public let subject: PersistedValues.Subject<Default?>
  private let store: any LayeredStore

  /// The value of `Default`'s key in `store`.
  public init(in store: any LayeredStore) {
    self.store = store
    handle = store.persistedValue(for: StorageKey(Default.key, of: Default.self)).eraseToAnyPersistedValue()
    subject = handle.subject()
  }

  /// The value of `Default`'s key in ``/CofferDefaults/DefaultsStore/standard``, opened at the first use.
  public init() { self.init(in: DefaultsStore.standard) }

  /// Returns once all values are on the disk.
  public func synchronize() throws(StoreError) { try store.synchronize() }
}

/// The value of a type, in memory only. It is still serialized, so that a test exercises the conversion.
public struct InMemoryStore<Default: DefaultConvertible>: DefaultStoreType {
  /// The value as a handle.
  public let handle: AnyPersistedValue<Default?>
  /// The value as a subject that reports its changes.
  public let subject: PersistedValues.Subject<Default?>

  /// An empty store.
  public init() {
    let store = PersistentStore<Default>(in: MemoryStore<Plain>())
    (handle, subject) = (store.handle, store.subject)
  }

  /// Does nothing.
  public func synchronize() {}
}

/// The value of a type in a hidden store, for injection.
public struct AnyStore<Default: DefaultConvertible>: DefaultStoreType {
  private let base: any DefaultStoreType<Default>

  /// Hides the type of `store`.
  public init(_ store: any DefaultStoreType<Default>) { base = store }

  /// The value as a handle.
  public var handle: AnyPersistedValue<Default?> { base.handle }
  /// The value as a subject that reports its changes.
  public var subject: PersistedValues.Subject<Default?> { base.subject }
  /// Returns once all values are on the disk.
  public func synchronize() throws(StoreError) { try base.synchronize() }
}
