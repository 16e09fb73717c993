public import CofferPlatform
public import CofferStorage

/// A handle to one stored value, which may be out of reach: each read and write can throw, and there is no reading past that.
///
/// Handles of the vault are these. Say with ``onFailure(use:_:)`` what a failure does, and the handle becomes a ``PersistedValue``.
public protocol ThrowingPersistedValue<Value>: Sendable {
  /// What is read and written.
  associatedtype Value: Sendable
  /// `Plain`, `Vault`, or ``Undisclosed`` once the handle was erased. Values of different sensitivity do not mix.
  associatedtype Sensitivity: Sendable

  /// The value now.
  ///
  /// - Throws: ``/CofferPlatform/StoreError`` when it cannot be had: never a default, or nil, in place of that.
  func load() throws(StoreError) -> Value

  /// Stores `value`; nil removes.
  ///
  /// - Throws: ``/CofferPlatform/StoreError``; what was stored is unchanged then.
  func save(_ value: Value) throws(StoreError)

  /// Reads, changes and stores. For a value of a store that is one atomic step, across all handles and processes; `body` runs under
  /// the store's lock, and a Coffer call inside it throws.
  ///
  /// - Throws: ``/CofferPlatform/StoreError``, or what `body` throws; nothing has changed then.
  func mutate(_ body: (inout Value) throws -> Void) throws

  /// Whether ``mutate(_:)`` is one step, whoever else writes.
  var mutatesAtomically: Bool { get }

  /// Whether the value comes from a vault: it is not printed then.
  var isSecret: Bool { get }

  /// Whose changes are changes of this value; empty for one that no store tells of.
  var origins: [ValueOrigin] { get }
}

/// A handle that reads like a property: ``wrappedValue``. Handles of the plain store are these, and any with a failure policy.
@dynamicMemberLookup
public protocol PersistedValue<Value>: ThrowingPersistedValue {
  /// What is read when the value cannot be: the last value this handle read, else its default.
  var fallback: Value { get }

  /// Called with each failure that ``wrappedValue`` met.
  func report(_ failure: StoreError)
}

extension PersistedValue {
  /// The value. Setting it stores it; setting nil removes.
  ///
  /// A failure is reported and, for a read, answered with ``fallback``. Use ``ThrowingPersistedValue/load()`` and
  /// ``ThrowingPersistedValue/save(_:)`` where a failure must be dealt with on the spot.
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
  /// False: whoever makes it atomic says so.
  public var mutatesAtomically: Bool { false }
  /// No store tells of it.
  public var origins: [ValueOrigin] { [] }

  /// Reads, changes and stores, in two steps.
  public func mutate(_ body: (inout Value) throws -> Void) throws {
    var value = try load()
    try body(&value)
    try save(value)
  }
}

/// The sensitivity of a handle whose store is no longer known. It merges with nothing.
public enum Undisclosed: Sendable {}

/// The operators' types. They are named by the functions that make them.
public enum PersistedValues {}
