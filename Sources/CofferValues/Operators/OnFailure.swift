public import CofferPlatform
public import CofferStorage

extension PersistedValues {
  /// A value that says what a failure does.
  public struct OnFailure<Base: ThrowingPersistedValue>: ValueOperator, PersistedValue {
    /// What is read and written.
    public typealias Value = Base.Value
    /// The value beneath.
    public let base: Base
    let substitute: @Sendable () -> Value
    let handle: @Sendable (StoreError) -> Void

    /// The value now.
    public func load() throws(StoreError) -> Value { try base.load() }
    /// Stores a value.
    public func save(_ value: Value) throws(StoreError) { try base.save(value) }
    /// Reads, changes and stores.
    public func mutate(_ body: (inout Value) throws -> Void) throws { try base.mutate(body) }

    /// What is read when the value cannot be.
    public var fallback: Value { substitute() }
    /// Told of what `wrappedValue` met.
    public func report(_ failure: StoreError) { handle(failure) }
  }
}

extension ThrowingPersistedValue {
  /// The same value with `wrappedValue`: what that meets goes to `handle`, and a read that failed gives `substitute`.
  ///
  /// On a handle of the vault this is where a program says that it can go on with a locked vault, and with what. Whoever gives nil here
  /// cannot tell a locked vault from a value that is not there by `wrappedValue`; ``ThrowingPersistedValue/load()`` tells, of the erased
  /// handle too.
  public func onFailure(
    use substitute: @autoclosure @escaping @Sendable () -> Value, _ handle: @escaping @Sendable (StoreError) -> Void
  ) -> PersistedValues.OnFailure<Self> {
    PersistedValues.OnFailure(base: self, substitute: substitute, handle: handle)
  }
}

extension PersistedValue {
  /// The same value, whose failures go to `handle`: a read that failed gives what it gave before.
  public func onFailure(_ handle: @escaping @Sendable (StoreError) -> Void) -> PersistedValues.OnFailure<Self> {
    PersistedValues.OnFailure(base: self, substitute: { fallback }, handle: handle)
  }
}

extension ThrowingPersistedValue where Sensitivity == Vault {
  /// Forbidden: a locked vault would read as nil, as if nobody were logged in, though nobody wrote that.
  @_disfavoredOverload
  @available(*, unavailable, message: "say what a locked vault reads as: .onFailure(use: nil) { error in … }")
  public func onFailure(_ handle: @escaping @Sendable (StoreError) -> Void) -> PersistedValues.OnFailure<Self> {
    fatalError("unavailable")
  }

  /// Forbidden: a locked vault would read as nil.
  @_disfavoredOverload
  @available(
    *, unavailable,
    message: "say what a locked vault does: .onFailure(use: nil) { error in … }.wrappedValue, or use load() and save(_:)"
  )
  public var wrappedValue: Value { fatalError("unavailable") }

  /// Forbidden: the erased handle has `wrappedValue`.
  @_disfavoredOverload
  @available(
    *, unavailable, message: "say what a locked vault does first: .onFailure(use: nil) { error in … }.eraseToAnyPersistedValue()"
  )
  public func eraseToAnyPersistedValue() -> AnyPersistedValue<Value> { fatalError("unavailable") }
}
