public import CofferPlatform
internal import CofferStorage

extension PersistedValues {
  /// A value that reads as something while nothing is stored.
  public struct Default<Base: ThrowingPersistedValue, Value: Sendable>: ValueOperator where Base.Value == Value? {
    /// The value beneath.
    public let base: Base
    let substitute: @Sendable () -> Value

    /// The value now.
    public func load() throws(StoreError) -> Value { try base.load() ?? substitute() }
    /// Stores a value.
    public func save(_ value: Value) throws(StoreError) { try base.save(value) }

    /// Reads, changes and stores.
    public func mutate(_ body: (inout Value) throws -> Void) throws {
      try base.mutate { stored in
        var value = stored ?? substitute()
        try body(&value)
        stored = value
      }
    }
  }

  /// A value whose nil is never stored.
  public struct Optionally<Base: ThrowingPersistedValue>: ValueOperator {
    /// What is read and written.
    public typealias Value = Base.Value?
    /// The value beneath.
    public let base: Base

    /// The value now.
    public func load() throws(StoreError) -> Base.Value? { try base.load() }
    /// Stores a value.
    public func save(_ value: Base.Value?) throws(StoreError) { if let value { try base.save(value) } }

    /// Reads, changes and stores.
    public func mutate(_ body: (inout Base.Value?) throws -> Void) throws {
      try base.mutate { stored in
        var value = Optional(stored)
        try body(&value)
        if let value { stored = value }
      }
    }
  }
}

extension PersistedValues.Default: PersistedValue where Base: PersistedValue {
  /// What is read when the value cannot be.
  public var fallback: Value { base.fallback ?? substitute() }
}

extension PersistedValues.Optionally: PersistedValue where Base: PersistedValue {
  /// What is read when the value cannot be.
  public var fallback: Base.Value? { base.fallback }
}

extension ThrowingPersistedValue {
  /// The same value without the nil: it reads as `substitute`, worked out at each such read, while nothing is stored. A value that
  /// cannot be read throws, as before: only absence has a default.
  public func `default`<Wrapped>(
    _ substitute: @autoclosure @escaping @Sendable () -> Wrapped
  ) -> PersistedValues.Default<Self, Wrapped> where Value == Wrapped? {
    PersistedValues.Default(base: self, substitute: substitute)
  }

  /// The same value for an interface that wants an optional. Setting nil is ignored: this value cannot be absent.
  public func optional() -> PersistedValues.Optionally<Self> { PersistedValues.Optionally(base: self) }
}
