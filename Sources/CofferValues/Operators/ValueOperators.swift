public import CofferPlatform
public import CofferStorage

/// A value made from another one. It forwards to the other by default, and no operator lowers the sensitivity.
public protocol ValueOperator: ThrowingPersistedValue where Sensitivity == Base.Sensitivity {
  /// The type of the value beneath.
  associatedtype Base: ThrowingPersistedValue
  /// The value beneath.
  var base: Base { get }
}

extension ValueOperator {
  /// As the value beneath.
  public var mutatesAtomically: Bool { base.mutatesAtomically }
  /// As the value beneath.
  public var isSecret: Bool { base.isSecret }
  /// As the value beneath.
  public var origins: [ValueOrigin] { base.origins }
}

extension ValueOperator where Base: PersistedValue {
  /// As the value beneath.
  public func report(_ failure: StoreError) { base.report(failure) }
}

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
  /// The value in place of an unreadable one.
  public var fallback: Value { transform(base.fallback) }
}

extension ThrowingPersistedValue {
  /// The same value as another type.
  public func map<Other: Sendable>(
    transform: @escaping @Sendable (Value) -> Other, untransform: @escaping @Sendable (Other) -> Value
  ) -> PersistedValues.Map<Self, Other> {
    PersistedValues.Map(base: self, transform: transform, untransform: untransform)
  }

  /// The same value as another type. A write of a value without a counterpart in this type is dropped.
  public func compactMap<Other: Sendable>(
    transform: @escaping @Sendable (Value) -> Other, untransform: @escaping @Sendable (Other) -> Value?
  ) -> PersistedValues.Map<Self, Other> {
    PersistedValues.Map(base: self, transform: transform, untransform: untransform)
  }
}

extension PersistedValues {
  /// Two values read as one.
  public struct Merge<First: ThrowingPersistedValue, Second: ThrowingPersistedValue>: ThrowingPersistedValue
  where First.Value == Second.Value, First.Sensitivity == Second.Sensitivity {
    /// The type of the value.
    public typealias Value = First.Value
    /// The sensitivity of both.
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
    /// The origins of this value's changes.
    public var origins: [ValueOrigin] { first.origins + second.origins }
  }
}

extension PersistedValues.Merge: PersistedValue where First: PersistedValue, Second: PersistedValue {
  /// The value in place of an unreadable one.
  public var fallback: First.Value { merge(first.fallback, second.fallback) }
  /// Reports a failure of `wrappedValue`.
  public func report(_ failure: StoreError) { first.report(failure) }
}

extension ThrowingPersistedValue {
  /// Both values as one: a read merges them, a write goes to this one and then to the other. The two writes are separate: if
  /// the values must never differ, use a router's `transaction`.
  public func merge<Other: ThrowingPersistedValue>(
    with other: Other, merge: @escaping @Sendable (Value, Value) -> Value
  ) -> PersistedValues.Merge<Self, Other> where Other.Value == Value, Other.Sensitivity == Sensitivity, Sensitivity: Route {
    PersistedValues.Merge(first: self, second: other, merge: merge)
  }

  /// The same with an optional partner: without one this value stands alone.
  public func merge<Other: PersistedValue>(
    with other: Other?, merge: @escaping @Sendable (Value, Value) -> Value
  ) -> AnyPersistedValue<Value>
  where Self: PersistedValue, Other.Value == Value, Other.Sensitivity == Sensitivity, Sensitivity: Route {
    guard let other else { return eraseToAnyPersistedValue() }
    return PersistedValues.Merge(first: self, second: other, merge: merge).eraseToAnyPersistedValue()
  }

  /// Forbidden: a write to one goes to the other.
  @_disfavoredOverload
  @available(*, unavailable, message: "a secret does not merge with a plain value: what is written goes to both")
  public func merge<Other: ThrowingPersistedValue>(
    with other: Other, merge: @escaping @Sendable (Value, Value) -> Value
  ) -> Self where Other.Value == Value { fatalError("unavailable") }
}

extension PersistedValues {
  /// A value with a default.
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

  /// A value that ignores a write of nil.
  public struct Optionally<Base: ThrowingPersistedValue>: ValueOperator {
    /// The type of the value.
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
  /// The value in place of an unreadable one.
  public var fallback: Value { base.fallback ?? substitute() }
}

extension PersistedValues.Optionally: PersistedValue where Base: PersistedValue {
  /// The value in place of an unreadable one.
  public var fallback: Base.Value? { base.fallback }
}

extension ThrowingPersistedValue {
  /// The same value, reading as `substitute` while nothing is stored; each such read evaluates it. An unreadable value still
  /// throws: only absence has a default.
  public func `default`<Wrapped>(
    _ substitute: @autoclosure @escaping @Sendable () -> Wrapped
  ) -> PersistedValues.Default<Self, Wrapped> where Value == Wrapped? {
    PersistedValues.Default(base: self, substitute: substitute)
  }

  /// The same value for an interface that wants an optional. Setting nil is ignored: this value cannot be absent.
  public func optional() -> PersistedValues.Optionally<Self> { PersistedValues.Optionally(base: self) }
}
