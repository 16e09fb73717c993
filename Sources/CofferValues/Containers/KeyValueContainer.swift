public import CofferPlatform
public import CofferStorage

/// One value of a storage, to pass around separately: its key and type are fixed.
///
/// ```swift
/// extension PersistentStorage {
///   var launches: KeyValueContainer<Int> { makeContainer(defaultValue: 0) }
/// }
/// ```
///
/// A second `launches` does not compile. The property's name is the name in the storage: when it changes, pass the old one as
/// `key:`, or declare a `StorageKey` with `renamed(from:)`.
public struct KeyValueContainer<Value: Sendable>: PersistedValue {
  /// Not disclosed.
  public typealias Sensitivity = Undisclosed
  /// The name in the storage, before any prefix.
  public let key: String
  /// The value while nothing is stored.
  public let defaultValue: Value?
  private let handle: AnyPersistedValue<Value?>

  init(name: ContainerName, defaultValue: Value?, handle: AnyPersistedValue<Value?>) {
    key = name.text
    self.defaultValue = defaultValue
    self.handle = handle
  }

  /// A container for the value of `storage` under `key`.
  public init(
    storage: any KeyValueStorage<Plain>, key: String, defaultValue: Value? = nil
  ) where Value: PlainValue {
    self.key = key
    self.defaultValue = defaultValue
    handle = storage.store.persistedValue(for: StorageKey(key, of: Value.self)).eraseToAnyPersistedValue()
  }

  /// The value, or ``defaultValue`` while nothing is stored. Setting nil removes. Failures go the way of
  /// ``PersistedValue/wrappedValue``.
  public var value: Value? {
    get { wrappedValue }
    nonmutating set { wrappedValue = newValue }
  }

  /// The value now.
  public func load() throws(StoreError) -> Value? { try handle.load() ?? defaultValue }
  /// Stores a value.
  public func save(_ value: Value?) throws(StoreError) { try handle.save(value) }

  /// Reads, changes and stores.
  public func mutate(_ body: (inout Value?) throws -> Void) throws {
    try handle.mutate { stored in
      var value = stored ?? defaultValue
      try body(&value)
      stored = value
    }
  }

  /// Whether ``mutate(_:)`` is one step.
  public var mutatesAtomically: Bool { handle.mutatesAtomically }
  /// Whether the value comes from a vault.
  public var isSecret: Bool { handle.isSecret }
  /// The origins of this value's changes.
  public var origins: [ValueOrigin] { handle.origins }
  /// The value in place of an unreadable one.
  public var fallback: Value? { handle.fallback ?? defaultValue }
  /// Reports a failure of `wrappedValue`.
  public func report(_ failure: StoreError) { handle.report(failure) }
}
