public import CofferStorage
internal import Synchronization

extension PersistedValues {
  /// A value that tells of its changes: the present value first, and then each new one.
  ///
  /// What a change is, is for the value's source to say: its store, which tells of every handle's and every process's writes; or what
  /// ``/CofferValues/PersistedValue/subject(didChange:)`` was given, and nothing else; or, where there is neither, this subject's own writes.
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
    /// What is read when the value cannot be.
    public var fallback: Value { base.fallback }
    /// Told of what `wrappedValue` met.
    public func report(_ failure: StoreError) { base.report(failure) }

    /// The values over time, for one loop: see ``/CofferStorage/ValueChanges``. It ends when the source does.
    ///
    /// - Throws: what ``/CofferStorage/ChangeFeed/subscribe(_:)`` throws.
    public func changes() throws(StoreError) -> ValueChanges<Value> {
      try ValueChanges.following(origins, pulse) { [base] in Result { () throws(StoreError) in try base.load() } }
    }

    /// Calls `body` with the present value now, and with each new one, until it is cancelled or `owner` is gone. A value that cannot be
    /// read is reported, and `body` gets the fallback.
    ///
    /// - Throws: what ``/CofferStorage/ChangeFeed/subscribe(_:)`` throws.
    @discardableResult
    public func observe(
      _ owner: any AnyObject & Sendable, _ body: @escaping @Sendable (Value) -> Void
    ) throws(StoreError) -> Handler<Void>.Canceller {
      // Not the subject: whoever forgets it ends the observation, and not the other way round.
      let (base, handler) = (base, pulse ?? Handler<Void>())
      let cancel = handler.add(owner) { body(base.wrappedValue) }
      var feeds: [Subscription] = []
      for origin in origins {
        feeds.append(try origin.subscribe { [weak handler] in handler?.trigger() })
      }
      let kept = Kept(handler, feeds)
      let id = ObjectIdentifier(kept)
      keeping.withLock { $0[id] = kept }
      body(base.wrappedValue)
      return { [weak self] in
        cancel()
        _ = self?.keeping.withLock { $0.removeValue(forKey: id) }
      }
    }

    /// What an observation lives on.
    private final class Kept: Sendable {
      let handler: Handler<Void>
      let feeds: [Subscription]
      init(_ handler: Handler<Void>, _ feeds: [Subscription]) {
        self.handler = handler
        self.feeds = feeds
      }
    }
    private let keeping = Mutex<[ObjectIdentifier: Kept]>([:])
  }
}

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
