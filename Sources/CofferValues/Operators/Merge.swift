public import CofferPlatform
public import CofferStorage

extension PersistedValues {
  /// Two values read as one.
  public struct Merge<First: ThrowingPersistedValue, Second: ThrowingPersistedValue>: ThrowingPersistedValue
  where First.Value == Second.Value, First.Sensitivity == Second.Sensitivity {
    /// What is read and written.
    public typealias Value = First.Value
    /// As it is declared: see the protocol.
    public typealias Sensitivity = First.Sensitivity
    let first: First
    let second: Second
    let merge: @Sendable (Value, Value) -> Value

    /// The value now.
    public func load() throws(StoreError) -> Value { try merge(first.load(), second.load()) }

    /// Stores a value.
    public func save(_ value: Value) throws(StoreError) {
      try first.save(value)
      try second.save(value)
    }

    /// Whether the value comes from a vault.
    public var isSecret: Bool { first.isSecret || second.isSecret }
    /// Whose changes are changes of this value.
    public var origins: [ValueOrigin] { first.origins + second.origins }
  }
}

extension PersistedValues.Merge: PersistedValue where First: PersistedValue, Second: PersistedValue {
  /// What is read when the value cannot be.
  public var fallback: First.Value { merge(first.fallback, second.fallback) }
  /// Told of what `wrappedValue` met.
  public func report(_ failure: StoreError) { first.report(failure) }
}

extension ThrowingPersistedValue {
  /// Both values as one: a read merges them, a write goes to both, to this one first. They are two values all the same: where they
  /// must never differ use a router's `transaction`.
  public func merge<Other: ThrowingPersistedValue>(
    with other: Other, merge: @escaping @Sendable (Value, Value) -> Value
  ) -> PersistedValues.Merge<Self, Other> where Other.Value == Value, Other.Sensitivity == Sensitivity, Sensitivity: Route {
    PersistedValues.Merge(first: self, second: other, merge: merge)
  }

  /// The same with a partner that may be missing: without one this value stands alone.
  public func merge<Other: PersistedValue>(
    with other: Other?, merge: @escaping @Sendable (Value, Value) -> Value
  ) -> AnyPersistedValue<Value>
  where Self: PersistedValue, Other.Value == Value, Other.Sensitivity == Sensitivity, Sensitivity: Route {
    guard let other else { return eraseToAnyPersistedValue() }
    return PersistedValues.Merge(first: self, second: other, merge: merge).eraseToAnyPersistedValue()
  }

  /// Forbidden: what is written to one goes to the other.
  @_disfavoredOverload
  @available(*, unavailable, message: "a secret does not merge with a plain value: what is written goes to both")
  public func merge<Other: ThrowingPersistedValue>(
    with other: Other, merge: @escaping @Sendable (Value, Value) -> Value
  ) -> Self where Other.Value == Value { fatalError("unavailable") }
}
