public import CofferPlatform
internal import CofferStorage
internal import Synchronization

extension PersistedValues {
  /// A value whose ``mutate(_:)`` is one step.
  public struct Atomic<Base: ThrowingPersistedValue>: ValueOperator {
    /// What is read and written.
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
      try turn.lock.withLock { (_) throws(StoreError) in try base.save(value) }
    }

    /// Reads, changes and stores.
    public func mutate(_ body: (inout Value) throws -> Void) throws {
      guard !base.mutatesAtomically else { return try base.mutate(body) }
      try Reentrancy.check("an atomic value")
      try turn.lock.withLock { _ in
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
  let lock = Mutex<Void>(())
}

extension PersistedValues.Atomic: PersistedValue where Base: PersistedValue {
  /// What is read when the value cannot be.
  public var fallback: Value { base.fallback }
}

extension ThrowingPersistedValue {
  /// The same value, whose `mutate` is one step. A stored value's always is, whichever handle or process writes, and passes through;
  /// merged values, and those made of closures, get a lock, which the copies of this handle share.
  public func atomic() -> PersistedValues.Atomic<Self> { PersistedValues.Atomic(base: self) }
}
