public import CofferPlatform
public import CofferStorage
internal import Synchronization

extension PersistedValues {
  /// A value with a failure policy.
  public struct OnFailure<Base: ThrowingPersistedValue>: ValueOperator, PersistedValue {
    /// The type of the value.
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

    /// The value in place of an unreadable one.
    public var fallback: Value { substitute() }
    /// Reports a failure of `wrappedValue`.
    public func report(_ failure: StoreError) { handle(failure) }
  }
}

extension ThrowingPersistedValue {
  /// The same value with `wrappedValue`: its failures go to `handle`, and a failed read returns `substitute`.
  ///
  /// On a vault handle this is the program's answer to a locked vault. With a nil substitute `wrappedValue` does not tell a
  /// locked vault from a missing value; ``ThrowingPersistedValue/load()`` does, even on the erased handle.
  public func onFailure(
    use substitute: @autoclosure @escaping @Sendable () -> Value, _ handle: @escaping @Sendable (StoreError) -> Void
  ) -> PersistedValues.OnFailure<Self> {
    PersistedValues.OnFailure(base: self, substitute: substitute, handle: handle)
  }
}

extension PersistedValue {
  /// The same value, whose failures go to `handle`: a failed read returns the last value.
  public func onFailure(_ handle: @escaping @Sendable (StoreError) -> Void) -> PersistedValues.OnFailure<Self> {
    PersistedValues.OnFailure(base: self, substitute: { fallback }, handle: handle)
  }
}

extension ThrowingPersistedValue where Sensitivity == Vault {
  /// Forbidden: a locked vault would read as nil, as if nobody were logged in, without nil in the source.
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
  public var wrappedValue: Value {
    get { fatalError("unavailable") }
    nonmutating set { fatalError("unavailable") }
  }

  /// Forbidden: an observer would get nil from a locked vault.
  @_disfavoredOverload
  @available(*, unavailable, message: "say what a locked vault does first: .onFailure(use: nil) { error in … }.subject()")
  public func subject() -> PersistedValues.Subject<Value> { fatalError("unavailable") }

  /// Forbidden: the erased handle has `wrappedValue`.
  @_disfavoredOverload
  @available(
    *, unavailable, message: "say what a locked vault does first: .onFailure(use: nil) { error in … }.eraseToAnyPersistedValue()"
  )
  public func eraseToAnyPersistedValue() -> AnyPersistedValue<Value> { fatalError("unavailable") }
}

extension PersistedValues {
  /// A value that prints its reads and writes.
  public struct Print<Base: ThrowingPersistedValue>: ValueOperator {
    /// The type of the value.
    public typealias Value = Base.Value
    /// The value beneath.
    public let base: Base
    fileprivate let lines: Lines

    /// The value now.
    public func load() throws(StoreError) -> Value {
      let value = try base.load()
      tell("get", value)
      return value
    }

    /// Stores a value.
    public func save(_ value: Value) throws(StoreError) {
      try base.save(value)
      tell("set", value)
    }

    /// Reads, changes and stores.
    public func mutate(_ body: (inout Value) throws -> Void) throws {
      var seen: (old: Value, new: Value)?
      try base.mutate { value in
        let old = value
        try body(&value)
        seen = (old, value)
      }
      guard let seen else { return }
      tell("get", seen.old)
      tell("set", seen.new)
    }

    private func tell(_ verb: String, _ value: Value) { lines.add("\(verb) value: (\(isSecret ? "•••" : "\(value)"))") }
  }
}

extension PersistedValues.Print: PersistedValue where Base: PersistedValue {
  /// The value in place of an unreadable one.
  public var fallback: Value { base.fallback }
}

private final class Lines: Sendable {
  private let prefix: String
  private let stream: Mutex<(any TextOutputStream & Sendable)?>

  init(_ prefix: String, _ stream: (any TextOutputStream & Sendable)?) {
    self.prefix = prefix.isEmpty ? "" : prefix + ": "
    self.stream = Mutex(stream)
  }

  func add(_ line: String) {
    let text = prefix + line
    stream.withLock { stream in
      if stream == nil { Swift.print(text) } else { stream?.write(text + "\n") }
    }
  }
}

extension ThrowingPersistedValue {
  /// The same value, which prints each read as `prefix: get value: (…)` and each successful write as `prefix: set value:
  /// (…)`. A value of the vault shows as `•••`.
  ///
  /// - Parameters:
  ///   - prefix: the first word of each line.
  ///   - stream: the output; standard output by default.
  public func print(
    _ prefix: String = "", to stream: (any TextOutputStream & Sendable)? = nil
  ) -> PersistedValues.Print<Self> {
    PersistedValues.Print(base: self, lines: Lines(prefix, stream))
  }
}

extension PersistedValues {
  /// A value whose ``mutate(_:)`` is one step.
  public struct Atomic<Base: ThrowingPersistedValue>: ValueOperator {
    /// The type of the value.
    public typealias Value = Base.Value
    /// The value beneath.
    public let base: Base
    private let turn = Turn()

    init(base: Base) { self.base = base }

    /// The value now.
    public func load() throws(StoreError) -> Value { try base.load() }

    /// Stores a value.
    public func save(_ value: Value) throws(StoreError) {
      guard !base.mutatesAtomically else { return try base.save(value) }
      try turn.check()
      try turn.take { () throws(StoreError) in try base.save(value) }
    }

    /// Reads, changes and stores.
    public func mutate(_ body: (inout Value) throws -> Void) throws {
      guard !base.mutatesAtomically else { return try base.mutate(body) }
      try Reentrancy.check("an atomic value")
      try turn.check()
      var failure: (any Error)?
      try turn.take { () throws(StoreError) in
        var value = try base.load()
        do { try Reentrancy.inside { try body(&value) } } catch { return failure = error }
        try base.save(value)
      }
      if let failure { throw failure }
    }

    /// Always true.
    public var mutatesAtomically: Bool { true }
  }
}

/// The lock that copies of one handle share.
private final class Turn: Sendable {
  private let lock = Mutex<Void>(())
  /// The number of the holding thread; zero if none.
  private let holder = Atomic<UInt32>(0)

  /// Throws ``/CofferPlatform/StoreError`` `.reentrant` on the holding thread, which would deadlock.
  func check() throws(StoreError) {
    guard holder.load(ordering: .relaxed) == coffer_thread_number() else { return }
    throw StoreError(
      .reentrant, "an atomic value was written while this thread writes it", place: "an atomic value",
      cure: "write it after mutate(_:); an observer may write a value made by .atomic().subject()")
  }

  /// Two steps are never attempted in place: the second might be refused after the first.
  func take(_ body: () throws(StoreError) -> Void) throws(StoreError) {
    try Waiting.refuse(at: CallQueues.ownName(of: "an atomic value"))
    try lock.withLock(at: "an atomic value") { (_) throws(StoreError) in
      holder.store(coffer_thread_number(), ordering: .relaxed)
      defer { holder.store(0, ordering: .relaxed) }
      try body()
    }
  }
}

extension PersistedValues.Atomic: PersistedValue where Base: PersistedValue {
  /// The value in place of an unreadable one.
  public var fallback: Value { base.fallback }
}

extension ThrowingPersistedValue {
  /// The same value, whose `mutate` is one step. A stored value's always is, across handles and processes, and passes
  /// through. Merged values, and those made of closures, get a lock that the copies of this handle share.
  ///
  /// A nested write of the same value throws ``/CofferPlatform/StoreError/Kind/reentrant``: from `mutate`, and from an
  /// observer that `subject().atomic()` calls during a write. `atomic().subject()` calls its observers after the write, so
  /// they may write.
  public func atomic() -> PersistedValues.Atomic<Self> { PersistedValues.Atomic(base: self) }
}
