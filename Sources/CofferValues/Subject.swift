public import CofferPlatform
public import CofferStorage
internal import Synchronization

extension PersistedValues {
  /// A value that reports its changes: the current value first, and then the newest whenever it differs.
  ///
  /// The source decides what counts as a change: the value's store, which reports the writes of every handle and process; or
  /// only the trigger given to ``/CofferValues/PersistedValue/subject(didChange:)``; or, without either, this subject's own
  /// writes.
  public final class Subject<Value: Sendable>: PersistedValue {
    /// Unknown: it merges with nothing.
    public typealias Sensitivity = Undisclosed
    private let base: AnyPersistedValue<Value>
    private let pulse: Handler<Void>?
    private let isOwnSource: Bool

    init(_ base: AnyPersistedValue<Value>, didChange: Handler<Void>?) {
      self.base = base
      isOwnSource = didChange == nil && base.origins.isEmpty
      pulse = isOwnSource ? Handler<Void>() : didChange
    }

    /// The value now.
    public func load() throws(StoreError) -> Value { try base.load() }

    /// Stores a value.
    public func save(_ value: Value) throws(StoreError) {
      try base.save(value)
      if isOwnSource { Waiting.freely { pulse?.trigger() } }
    }

    /// Reads, changes and stores.
    public func mutate(_ body: (inout Value) throws -> Void) throws {
      try base.mutate(body)
      if isOwnSource { Waiting.freely { pulse?.trigger() } }
    }

    /// Whether ``mutate(_:)`` is one step.
    public var mutatesAtomically: Bool { base.mutatesAtomically }
    /// Whether the value comes from a vault.
    public var isSecret: Bool { base.isSecret }
    /// The origins of this value's changes.
    public var origins: [ValueOrigin] { pulse == nil ? base.origins : [] }
    /// The value in place of an unreadable one.
    public var fallback: Value { base.fallback }
    /// Reports a failure of `wrappedValue`.
    public func report(_ failure: StoreError) { base.report(failure) }

    /// The values over time, for one loop: see ``/CofferStorage/ValueChanges``. The sequence ends with the source.
    ///
    /// - Throws: the errors of ``/CofferStorage/ChangeFeed/subscribe(_:)``.
    public func changes() throws(StoreError) -> ValueChanges<Value> {
      try ValueChanges.following(origins, pulse, comparing: base.origins, isSecret: isSecret) { [base] () throws(StoreError) in
        try base.load()
      }
    }

    /// Calls `body` with the value now and at each change, until it is cancelled or `owner` is gone. An owner has one closure
    /// for each subject; a second one replaces the first. An unreadable value is reported, and `body` gets the fallback.
    ///
    /// The first call comes on the calling thread before this returns; later ones come one at a time on a queue of the store,
    /// or without a store on the thread that sets the value or triggers the source. `body` never gets the same value twice in
    /// a row, and of quick changes it may get only the last.
    ///
    /// The observation keeps the subject and its store alive. It releases its captures when it ends; after an owner's end, at
    /// the next change or within about a minute.
    ///
    /// - Throws: the errors of ``/CofferStorage/ChangeFeed/subscribe(_:)``.
    @discardableResult
    public func observe(
      _ owner: any AnyObject & Sendable, _ body: @escaping @Sendable (Value) -> Void
    ) throws(StoreError) -> Handler<Void>.Canceller {
      let told = Told<Value>(isSecret: isSecret)
      return try changes().observe(self, by: owner) { [self] element in
        let value = read(element)
        if told.isNews(value) { body(value) }
      }
    }

    /// The same for an owner on the main actor: any object there, `Sendable` or not. The owner is held weakly and passed to
    /// `body`, which need not capture it. `actor` is `.shared`.
    ///
    /// - Throws: the errors of ``observe(_:_:)``.
    @MainActor @discardableResult
    public func observe<Owner: AnyObject>(
      _ owner: Owner, on actor: MainActor, _ body: @escaping @MainActor (Owner, Value) -> Void
    ) throws(StoreError) -> Handler<Void>.Canceller {
      let told = Told<Value>(isSecret: isSecret)
      return try changes().observe(self, onMainBy: owner) { [self] owner, element in
        let value = read(element)
        if told.isNews(value) { body(owner, value) }
      }
    }

    private func read(_ element: Result<Value, StoreError>) -> Value {
      do throws(StoreError) { return try element.get() } catch {
        report(error)
        return fallback
      }
    }
  }
}

/// The last value that an observer got. A fallback may equal it.
private final class Told<Value: Sendable>: Sendable {
  private let isSecret: Bool
  private let last = Mutex<SeenValue?>(nil)

  init(isSecret: Bool) { self.isSecret = isSecret }

  func isNews(_ value: Value) -> Bool {
    // Absence is no secret.
    let seen = SeenValue(isSecret && !isAbsent(value) ? nil : value, stored: isAbsent(value) ? [true] : [])
    return last.withLock { last in
      defer { last = seen }
      return last?.isSame(as: seen) != true
    }
  }

  private func isAbsent(_ value: Value) -> Bool { (value as? any Absentable)?.isAbsent ?? false }
}

private protocol Absentable { var isAbsent: Bool { get } }
extension Optional: Absentable { fileprivate var isAbsent: Bool { self == nil } }

extension PersistedValue {
  /// The same value, reporting its changes.
  public func subject() -> PersistedValues.Subject<Value> {
    PersistedValues.Subject(eraseToAnyPersistedValue(), didChange: nil)
  }

  /// The same value, reporting a change only at each trigger of `didChange`, not when it is set.
  public func subject(didChange: Handler<Void>) -> PersistedValues.Subject<Value> {
    PersistedValues.Subject(eraseToAnyPersistedValue(), didChange: didChange)
  }
}

extension Store {
  /// A value that reports its changes; `make` types its handle.
  public func persistedSubject<Value: PersistedValue>(
    forKey name: String, make: (PersistedValues.Named<R>) -> Value
  ) -> PersistedValues.Subject<Value.Value> {
    make(persistedValue(forKey: name)).subject()
  }
}
