public import CofferPlatform
public import CofferStorage

/// A handle to one stored value, which may be out of reach: each read and write can throw.
///
/// Handles of the vault are of this kind. ``onFailure(use:_:)`` handles failures and makes a ``PersistedValue``.
public protocol ThrowingPersistedValue<Value>: Sendable {
  /// The type of the value.
  associatedtype Value: Sendable
  /// `Plain`, `Vault`, or ``Undisclosed`` for an erased handle. Values of different sensitivity do not merge.
  associatedtype Sensitivity: Sendable

  /// The value now.
  ///
  /// - Throws: ``/CofferPlatform/StoreError`` for an unreadable value, which never reads as a default or nil.
  func load() throws(StoreError) -> Value

  /// Stores `value`; nil removes.
  ///
  /// - Throws: ``/CofferPlatform/StoreError``; the stored value is unchanged then.
  func save(_ value: Value) throws(StoreError)

  /// Reads, changes and stores. For a store's value this is one atomic step across all handles and processes; `body` runs
  /// under the store's lock, and a Coffer call inside it throws.
  ///
  /// - Throws: ``/CofferPlatform/StoreError``, or the error of `body`; nothing has changed then.
  func mutate(_ body: (inout Value) throws -> Void) throws

  /// Whether ``mutate(_:)`` is one atomic step.
  var mutatesAtomically: Bool { get }

  /// Whether the value comes from a vault. It is then never printed.
  var isSecret: Bool { get }

  /// The origins of this value's changes; empty if no store reports them.
  var origins: [ValueOrigin] { get }
}

/// A handle that reads like a property through ``wrappedValue``: a handle of the plain store, or one with a failure policy.
@dynamicMemberLookup
public protocol PersistedValue<Value>: ThrowingPersistedValue {
  /// The value in place of an unreadable one: the last value of this handle, else its default.
  var fallback: Value { get }

  /// Called with each failure of ``wrappedValue``.
  func report(_ failure: StoreError)
}

extension PersistedValue {
  /// The value. Setting it stores it; setting nil removes.
  ///
  /// Failures are reported, and a failed read returns ``fallback``. To handle failures on the spot, use
  /// ``ThrowingPersistedValue/load()`` and ``ThrowingPersistedValue/save(_:)``.
  public var wrappedValue: Value {
    get {
      do { return try load() } catch {
        report(error)
        return fallback
      }
    }
    nonmutating set {
      do { try save(newValue) } catch { report(error) }
    }
  }
}

extension ThrowingPersistedValue {
  /// False by default.
  public var mutatesAtomically: Bool { false }
  /// Empty by default.
  public var origins: [ValueOrigin] { [] }

  /// Reads, changes and stores, in two steps.
  public func mutate(_ body: (inout Value) throws -> Void) throws {
    var value = try load()
    try body(&value)
    try save(value)
  }
}

/// The sensitivity of an erased handle. It merges with nothing.
public enum Undisclosed: Sendable {}

/// The operators' types, named by the functions that make them.
public enum PersistedValues {}

/// A value that hides its store, for injection.
public struct AnyPersistedValue<Value: Sendable>: PersistedValue {
  /// Unknown.
  public typealias Sensitivity = Undisclosed
  private let base: any PersistedValue<Value>

  /// Hides the type of `base`.
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
  /// Whether ``mutate(_:)`` is one step.
  public var mutatesAtomically: Bool { base.mutatesAtomically }
  /// Whether the value comes from a vault.
  public var isSecret: Bool { base.isSecret }
  /// The origins of this value's changes.
  public var origins: [ValueOrigin] { base.origins }
  /// The value in place of an unreadable one.
  public var fallback: Value { base.fallback }
  /// Reports a failure of `wrappedValue`.
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
  /// The same value with only its type known.
  public func eraseToAnyPersistedValue() -> AnyPersistedValue<Value> { AnyPersistedValue(self) }
}

extension PersistedValues {
  struct Member<Base: PersistedValue, Value: Sendable>: PersistedValue {
    typealias Sensitivity = Undisclosed
    let base: Base
    let path: any WritableKeyPath<Base.Value, Value> & Sendable

    func load() throws(StoreError) -> Value { try base.load()[keyPath: path] }
    func save(_ value: Value) throws(StoreError) { try base.change { $0[keyPath: path] = value } }
    func mutate(_ body: (inout Value) throws -> Void) throws { try base.mutate { try body(&$0[keyPath: path]) } }
    var mutatesAtomically: Bool { base.mutatesAtomically }
    var isSecret: Bool { base.isSecret }
    var origins: [ValueOrigin] { base.origins }
    var fallback: Value { base.fallback[keyPath: path] }
    func report(_ failure: StoreError) { base.report(failure) }
  }

  /// A member of an optional value: nil while that is nil; writing it then does nothing.
  struct OptionalMember<Base: PersistedValue, Whole: Sendable, Value: Sendable>: PersistedValue where Base.Value == Whole? {
    typealias Sensitivity = Undisclosed
    let base: Base
    let get: @Sendable (Whole) -> Value?
    let set: @Sendable (inout Whole, Value?) -> Void

    func load() throws(StoreError) -> Value? { try base.load().flatMap(get) }

    func save(_ value: Value?) throws(StoreError) {
      try base.change { whole in
        guard var changed = whole else { return }
        set(&changed, value)
        whole = changed
      }
    }

    func mutate(_ body: (inout Value?) throws -> Void) throws {
      try base.mutate { whole in
        var value = whole.flatMap(get)
        try body(&value)
        guard var changed = whole else { return }
        set(&changed, value)
        whole = changed
      }
    }

    var mutatesAtomically: Bool { base.mutatesAtomically }
    var isSecret: Bool { base.isSecret }
    var origins: [ValueOrigin] { base.origins }
    var fallback: Value? { base.fallback.flatMap(get) }
    func report(_ failure: StoreError) { base.report(failure) }
  }
}

extension PersistedValue {
  /// A member of the value. Writing it changes only that member, in one step.
  public subscript<Member: Sendable>(
    dynamicMember path: any WritableKeyPath<Value, Member> & Sendable
  ) -> AnyPersistedValue<Member> {
    AnyPersistedValue(PersistedValues.Member(base: self, path: path))
  }

  /// A member of the value, nil while that is absent. Writing it then does nothing, nor does writing nil, which it cannot
  /// hold.
  public subscript<Whole, Member: Sendable>(
    dynamicMember path: any WritableKeyPath<Whole, Member> & Sendable
  ) -> AnyPersistedValue<Member?> where Value == Whole? {
    AnyPersistedValue(
      PersistedValues.OptionalMember<Self, Whole, Member>(
        base: self, get: { $0[keyPath: path] }, set: { whole, value in if let value { whole[keyPath: path] = value } }))
  }

  /// An optional member of the value, nil while that is absent. Writing it then does nothing.
  public subscript<Whole, Member: Sendable>(
    dynamicMember path: any WritableKeyPath<Whole, Member?> & Sendable
  ) -> AnyPersistedValue<Member?> where Value == Whole? {
    AnyPersistedValue(
      PersistedValues.OptionalMember<Self, Whole, Member>(
        base: self, get: { $0[keyPath: path] }, set: { whole, value in whole[keyPath: path] = value }))
  }

  fileprivate func change(_ body: (inout Value) -> Void) throws(StoreError) {
    do { try mutate { value in body(&value) } } catch let error as StoreError { throw error } catch {
      throw StoreError(.closureThrew, "the value could not be changed", cure: "see the underlying error", underlying: error)
    }
  }
}

extension PersistedValues {
  struct Checked<Base: PersistedValue>: PersistedValue {
    typealias Value = Base.Value
    typealias Sensitivity = Base.Sensitivity
    let base: Base
    let refusal: StoreError?

    func load() throws(StoreError) -> Value {
      if let refusal { throw refusal }
      return try base.load()
    }

    func save(_ value: Value) throws(StoreError) {
      if let refusal { throw refusal }
      try base.save(value)
    }

    func mutate(_ body: (inout Value) throws -> Void) throws {
      if let refusal { throw refusal }
      try base.mutate(body)
    }

    var mutatesAtomically: Bool { base.mutatesAtomically }
    var isSecret: Bool { base.isSecret }
    var origins: [ValueOrigin] { refusal == nil ? base.origins : [] }
    var fallback: Value { base.fallback }
    func report(_ failure: StoreError) { base.report(failure) }
  }
}
