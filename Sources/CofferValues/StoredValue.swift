public import CofferPlatform
public import CofferStorage
internal import Synchronization

extension PersistedValues {
  /// The value of one key, in a store or behind a router.
  public struct Stored<Value: Sendable, R: Route>: ThrowingPersistedValue {
    /// Where the key's value goes.
    public typealias Sensitivity = R

    enum Place: Sendable {
      case store(any Store<R>)
      case router(StorageRouter)
    }

    let key: StorageKey<Value, R>
    let place: Place
    /// What was read last. None for the vault's values, which must not outlive its locking.
    private let last: LastValue<Value>?

    init(_ key: StorageKey<Value, R>, in place: Place) {
      self.key = key
      self.place = place
      last = R.self == Plain.self ? LastValue() : nil
    }

    /// The value now.
    public func load() throws(StoreError) -> Value {
      let value =
        switch place {
        case .store(let store): try store.value(for: key)
        case .router(let router): try router.value(for: key)
        }
      last?.value = value
      return value
    }

    /// Stores a value.
    public func save(_ value: Value) throws(StoreError) {
      switch place {
      case .store(let store): try store.set(value, for: key)
      case .router(let router): try router.set(value, for: key)
      }
    }

    /// Reads, changes and stores.
    public func mutate(_ body: (inout Value) throws -> Void) throws {
      switch place {
      case .store(let store): try store.update(key, body)
      case .router(let router): try router.update(key, body)
      }
    }

    /// Whether that is one step.
    public var mutatesAtomically: Bool { true }
    /// Whether the value comes from a vault.
    public var isSecret: Bool { R.self == Vault.self }

    /// Whose changes are changes of this value.
    public var origins: [ValueOrigin] {
      switch place {
      case .store(let store): [origin(in: store)]
      case .router(let router): [origin(in: R.store(of: router))]
      }
    }

    private func origin(in store: any Store<R>) -> ValueOrigin {
      ValueOrigin(feed: store.changes, name: key.name) { [name = key.name] () throws(StoreError) in try store.look(at: name) }
    }

    fileprivate var lastOrDefault: Value { last?.value ?? key.defaultValue }
  }
}

extension PersistedValues.Stored: PersistedValue where R == Plain {
  /// What is read when the value cannot be.
  public var fallback: Value { lastOrDefault }
  /// Told of what `wrappedValue` met.
  public func report(_ failure: StoreError) { ValueFailures.report(failure) }
}

final class LastValue<Value: Sendable>: Sendable {
  private let storage = Mutex<Value?>(nil)
  var value: Value? {
    get { storage.withLock { $0 } }
    set { storage.withLock { $0 = newValue } }
  }
}

extension StorageRouter {
  /// A handle to the value of a declared key. Keys of the vault give one without `wrappedValue`, until `onFailure(use:_:)` was written.
  public func persistedValue<Value, R>(for key: StorageKey<Value, R>) -> PersistedValues.Stored<Value, R> {
    PersistedValues.Stored(key, in: .router(self))
  }
}

extension Store {
  /// A handle to the value of `key`, in this store.
  public func persistedValue<Value>(for key: StorageKey<Value, R>) -> PersistedValues.Stored<Value, R> {
    PersistedValues.Stored(key, in: .store(self))
  }

  /// A handle to whatever is stored under `name`. An operator gives it a type: `.string()`, for example.
  public func persistedValue(forKey name: String) -> PersistedValues.Named<R> { PersistedValues.Named(name: name, store: self) }
}
