public import CofferStorage

extension PersistedValues {
  /// A value seen as another type.
  public struct Map<Base: ThrowingPersistedValue, Value: Sendable>: ThrowingPersistedValue {
    public typealias Sensitivity = Base.Sensitivity
    let base: Base
    let transform: @Sendable (Base.Value) -> Value
    /// Nil drops the write.
    let untransform: @Sendable (Value) -> Base.Value?

    public func load() throws(StoreError) -> Value { try transform(base.load()) }
    public func save(_ value: Value) throws(StoreError) { if let value = untransform(value) { try base.save(value) } }

    public func mutate(_ body: (inout Value) throws -> Void) throws {
      try base.mutate { stored in
        var value = transform(stored)
        try body(&value)
        if let value = untransform(value) { stored = value }
      }
    }

    public var mutatesAtomically: Bool { base.mutatesAtomically }
    public var isSecret: Bool { base.isSecret }
    public var origins: [ValueOrigin] { base.origins }
  }
}

extension PersistedValues.Map: PersistedValue where Base: PersistedValue {
  public var fallback: Value { transform(base.fallback) }
  public func report(_ failure: StoreError) { base.report(failure) }
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
