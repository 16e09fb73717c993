public import CofferPlatform
public import CofferStorage
internal import Synchronization

extension PersistedValues {
  /// A value that reports its changes: the current value first, and then the newest whenever it differs.
  ///
  /// The source of the value decides what a change is: its store, which reports the writes of every handle and process; or the
  /// trigger given to ``/CofferValues/PersistedValue/subject(didChange:)``, and nothing else; or, without either, this subject's
  /// own writes.
  public final class Subject<Value: Sendable>: PersistedValue {
    /// As it is declared: see the protocol.
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
      if isOwnSource { pulse?.trigger() }
    }

    /// Reads, changes and stores.
    public func mutate(_ body: (inout Value) throws -> Void) throws {
      try base.mutate(body)
      if isOwnSource { pulse?.trigger() }
    }

    /// Whether that is one step.
    public var mutatesAtomically: Bool { base.mutatesAtomically }
    /// Whether the value comes from a vault.
    public var isSecret: Bool { base.isSecret }
    /// Whose changes are changes of this value.
    public var origins: [ValueOrigin] { pulse == nil ? base.origins : [] }
    /// The value in place of one that cannot be read.
    public var fallback: Value { base.fallback }
    /// Told of what `wrappedValue` met.
    public func report(_ failure: StoreError) { base.report(failure) }

    /// The values over time, for one loop: see ``/CofferStorage/ValueChanges``. It ends when the source does.
    ///
    /// - Throws: what ``/CofferStorage/ChangeFeed/subscribe(_:)`` throws.
    public func changes() throws(StoreError) -> ValueChanges<Value> {
      try ValueChanges.following(origins, pulse, comparing: base.origins, isSecret: isSecret) { [base] () throws(StoreError) in
        try base.load()
      }
    }

    /// Calls `body` with the value now, and then whenever it is another, until it is cancelled or `owner` is gone. An owner has
    /// one closure for each subject; a second one takes the place of the first. A value that cannot be read is reported, and
    /// `body` gets the fallback.
    ///
    /// It is called with the present value on the calling thread, before this returns, and later on a queue of the store's, one
    /// call after the other; where the source is no store, on the thread that sets the value or triggers the source. It never
    /// gets the same value twice in a row, and of changes in quick succession it may get the last alone.
    ///
    /// The observation keeps the subject and its store alive. What it held is released when it ends; after an owner's end, at the
    /// next change or within about a minute.
    ///
    /// - Throws: what ``/CofferStorage/ChangeFeed/subscribe(_:)`` throws.
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

    /// The same on the main actor, for what belongs to it: a window, a view's model, any object there, `Sendable` or not. `body`
    /// gets the owner, which is held weakly, and so need not capture it. `actor` is `.shared`.
    ///
    /// - Throws: what ``observe(_:_:)`` throws.
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

    /// The value that an observer gets for `element`.
    private func read(_ element: Result<Value, StoreError>) -> Value {
      do throws(StoreError) { return try element.get() } catch {
        report(error)
        return fallback
      }
    }
  }
}

/// The last value that an observer got. The value in place of an unreadable one may be the same.
private final class Told<Value: Sendable>: Sendable {
  private let isSecret: Bool
  private let last = Mutex<SeenValue?>(nil)

  init(isSecret: Bool) { self.isSecret = isSecret }

  func isNews(_ value: Value) -> Bool {
    // That there is none is no secret.
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
  /// The same value, telling of its changes.
  public func subject() -> PersistedValues.Subject<Value> {
    PersistedValues.Subject(eraseToAnyPersistedValue(), didChange: nil)
  }

  /// The same value, telling of a change whenever `didChange` is triggered, and not when it is set.
  public func subject(didChange: Handler<Void>) -> PersistedValues.Subject<Value> {
    PersistedValues.Subject(eraseToAnyPersistedValue(), didChange: didChange)
  }
}

extension Store {
  /// A value that tells of its changes: `make` gives the handle its type.
  public func persistedSubject<Value: PersistedValue>(
    forKey name: String, make: (PersistedValues.Named<R>) -> Value
  ) -> PersistedValues.Subject<Value.Value> {
    make(persistedValue(forKey: name)).subject()
  }
}
