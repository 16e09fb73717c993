public import CofferPlatform
public import CofferStorage
internal import Synchronization

extension PersistedValues {
  /// A value with an answer to failures.
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

    /// The value in place of one that cannot be read.
    public var fallback: Value { substitute() }
    /// Told of what `wrappedValue` met.
    public func report(_ failure: StoreError) { handle(failure) }
  }
}

extension ThrowingPersistedValue {
  /// The same value with `wrappedValue`: what that meets goes to `handle`, and a read that failed gives `substitute`.
  ///
  /// On a handle of the vault this is where a program says that it can go on with a locked vault, and with what. Whoever gives
  /// nil here cannot tell a locked vault from a value that is not there by `wrappedValue`; ``ThrowingPersistedValue/load()``
  /// tells, of the erased handle too.
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

extension PersistedValues {
  /// A value that tells of its reads and writes.
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
  /// The value in place of one that cannot be read.
  public var fallback: Value { base.fallback }
}

/// Lines with a prefix, to standard output or a stream.
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
  /// The same value, telling each read as `prefix: get value: (…)` and each write as `prefix: set value: (…)` once it succeeded.
  /// A value of the vault shows as `•••`.
  ///
  /// - Parameters:
  ///   - prefix: the first word of each line.
  ///   - stream: where the lines go; standard output unless given.
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
      try turn.take {
        var value = try base.load()
        try Reentrancy.inside { try body(&value) }
        try base.save(value)
      }
    }

    /// Whether that is one step.
    public var mutatesAtomically: Bool { true }
  }
}

/// The lock that copies of one handle share.
private final class Turn: Sendable {
  private let lock = Mutex<Void>(())
  /// The number of the thread that has it; zero while none has.
  private let holder = Atomic<UInt32>(0)

  /// Throws ``/CofferPlatform/StoreError`` `.reentrant` on the thread that has it: a write there would wait for itself.
  func check() throws(StoreError) {
    guard holder.load(ordering: .relaxed) == coffer_thread_number() else { return }
    throw StoreError(
      .reentrant, "an atomic value was written while this thread writes it", place: "an atomic value",
      cure: "write it after mutate(_:); an observer may write a value made by .atomic().subject()")
  }

  /// Runs `body` with it.
  func take<Failure: Error>(_ body: () throws(Failure) -> Void) throws(Failure) {
    try lock.withLock { (_) throws(Failure) in
      holder.store(coffer_thread_number(), ordering: .relaxed)
      defer { holder.store(0, ordering: .relaxed) }
      try body()
    }
  }
}

extension PersistedValues.Atomic: PersistedValue where Base: PersistedValue {
  /// The value in place of one that cannot be read.
  public var fallback: Value { base.fallback }
}

extension ThrowingPersistedValue {
  /// The same value, whose `mutate` is one step. A stored value's always is, whichever handle or process writes, and passes
  /// through; merged values, and those made of closures, get a lock, which the copies of this handle share.
  ///
  /// A write of the same value inside of its write throws ``/CofferPlatform/StoreError/Kind/reentrant``: from `mutate`, and from
  /// an observer that `subject().atomic()` tells while it writes. An observer of `atomic().subject()` is told afterwards, and may
  /// write.
  public func atomic() -> PersistedValues.Atomic<Self> { PersistedValues.Atomic(base: self) }
}
