public import CofferPlatform
internal import CofferStorage

extension PersistedValues {
  /// A value seen as another type.
  public struct Map<Base: ThrowingPersistedValue, Value: Sendable>: ValueOperator {
    /// The value beneath.
    public let base: Base
    let transform: @Sendable (Base.Value) -> Value
    /// Nil drops the write.
    let untransform: @Sendable (Value) -> Base.Value?

    /// The value now.
    public func load() throws(StoreError) -> Value { try transform(base.load()) }
    /// Stores a value.
    public func save(_ value: Value) throws(StoreError) { if let value = untransform(value) { try base.save(value) } }

    /// Reads, changes and stores.
    public func mutate(_ body: (inout Value) throws -> Void) throws {
      try base.mutate { stored in
        var value = transform(stored)
        try body(&value)
        if let value = untransform(value) { stored = value }
      }
    }
  }
}

extension PersistedValues.Map: PersistedValue where Base: PersistedValue {
  /// What is read when the value cannot be.
  public var fallback: Value { transform(base.fallback) }
}

extension ThrowingPersistedValue {
  /// The same value as another type.
  public func map<Other: Sendable>(
    transform: @escaping @Sendable (Value) -> Other, untransform: @escaping @Sendable (Other) -> Value
  ) -> PersistedValues.Map<Self, Other> {
    PersistedValues.Map(base: self, transform: transform, untransform: untransform)
  }

  /// The same value as another type, some of whose values stand for none of this one: writing such a value is dropped.
  public func compactMap<Other: Sendable>(
    transform: @escaping @Sendable (Value) -> Other, untransform: @escaping @Sendable (Other) -> Value?
  ) -> PersistedValues.Map<Self, Other> {
    PersistedValues.Map(base: self, transform: transform, untransform: untransform)
  }
}
