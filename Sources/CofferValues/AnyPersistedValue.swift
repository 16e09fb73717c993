public import CofferPlatform
public import CofferStorage

/// A value of which nothing is known but its type: for injection, where a part of a program should not know which store it uses.
public struct AnyPersistedValue<Value: Sendable>: PersistedValue {
  /// Unknown.
  public typealias Sensitivity = Undisclosed
  private let base: any PersistedValue<Value>

  /// Hides what `base` is.
  public init<Base: PersistedValue>(_ base: Base) where Base.Value == Value {
    self.base = base
  }

  /// A value read and written by closures.
  ///
  /// - Parameters:
  ///   - get: reads the value.
  ///   - set: stores a new one.
  ///   - isSecret: whether it must not be printed.
  public init(
    get: @escaping @Sendable () -> Value, set: @escaping @Sendable (Value) -> Void, isSecret: Bool = false
  ) {
    base = PersistedValues.Closures(read: get, write: set, isSecret: isSecret)
  }

  /// The value now.
  public func load() throws(StoreError) -> Value { try base.load() }
  /// Stores a value.
  public func save(_ value: Value) throws(StoreError) { try base.save(value) }
  /// Reads, changes and stores.
  public func mutate(_ body: (inout Value) throws -> Void) throws { try base.mutate(body) }
  /// Whether that is one step.
  public var mutatesAtomically: Bool { base.mutatesAtomically }
  /// Whether the value comes from a vault.
  public var isSecret: Bool { base.isSecret }
  /// Whose changes are changes of this value.
  public var origins: [ValueOrigin] { base.origins }
  /// What is read when the value cannot be.
  public var fallback: Value { base.fallback }
  /// Told of what `wrappedValue` met.
  public func report(_ failure: StoreError) { base.report(failure) }
}

extension PersistedValues {
  struct Closures<Value: Sendable>: PersistedValue {
    typealias Sensitivity = Undisclosed
    let read: @Sendable () -> Value
    let write: @Sendable (Value) -> Void
    let isSecret: Bool

    func load() -> Value { read() }
    func save(_ value: Value) { write(value) }
    var fallback: Value { read() }
    func report(_ failure: StoreError) { ValueFailures.report(failure) }
  }
}

extension PersistedValue {
  /// The same value, of which only the type is known.
  public func eraseToAnyPersistedValue() -> AnyPersistedValue<Value> { AnyPersistedValue(self) }
}
