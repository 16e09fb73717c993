public import CofferStorage
internal import Dispatch
internal import FoundationEssentials
internal import Synchronization

extension Session {
  /// What observers get: the state, or why it cannot be told.
  public typealias Observed = Result<SessionState<User>, StoreError>

  /// Calls `body` with the present state and then with each other one, for as long as `owner` lives: see
  /// ``/CofferStorage/Handler``. An owner has one closure.
  ///
  /// Only what is committed is told, by this process or another, and a login or a logout once, never half of it. That the
  /// credential has expired is told as well. `body` is called on a queue of the session's, one call after the other, and may use the
  /// session.
  ///
  /// - Returns: what ends it before `owner` does.
  /// - Throws: ``/CofferStorage/StoreError/Kind/io(_:)`` where the system's limits on watches are reached.
  @discardableResult
  public func observe(
    _ owner: any AnyObject & Sendable, _ body: @escaping @Sendable (Observed) -> Void
  ) throws(StoreError) -> Handler<Observed>.Canceller {
    try follow()
    let observer = SessionObserver()
    let cancel = observation.handler.add(owner) { state in
      _ = observer.begin()
      body(state)
    }
    observation.queue.async { [weak owner, observation] in
      guard owner != nil, observer.isActive, let last = observation.last.withLock({ $0 }), observer.begin() else { return }
      body(last)
    }
    return {
      observer.end()
      cancel()
    }
  }

  /// The present state and each that follows, as ``observe(_:_:)`` tells them; a loop slower than the changes gets the newest.
  /// It ends when the router is closed, and when the session's life ends.
  ///
  /// - Throws: what ``observe(_:_:)`` throws.
  public func changes() throws(StoreError) -> AsyncStream<Observed> {
    let (stream, continuation) = AsyncStream<Observed>.makeStream(bufferingPolicy: .bufferingNewest(1))
    let owner = SessionObserver()
    let cancel = try observe(owner) { continuation.yield($0) }
    let cancelEnd = observation.ended.add(owner) { continuation.finish() }
    continuation.onTermination = { _ in
      withExtendedLifetime(owner) {
        cancel()
        cancelEnd()
      }
    }
    return stream
  }

  /// Begins to watch the two keys.
  private func follow() throws(StoreError) {
    try observation.start { () throws(StoreError) in
      try keys.watch(observation.queue) { [weak self, observation] look in
        if let look { self?.deliver(look, always: true) } else { observation.ended.trigger() }
      }
    }
  }

  /// Tells observers what `look` means, and sets the alarm for its end.
  private func deliver(_ look: Result<SessionKeys<User>.Look, StoreError>, always: Bool) {
    let state = Result { () throws(StoreError) in try self.state(of: look) }
    let isNews = observation.last.withLock { last in
      let isNews = last.map { state.differs(from: $0, always: always) } ?? true
      if isNews { last = state }
      return isNews
    }
    let delivery = observation.deliveries.add(1, ordering: .relaxed).newValue
    if case .success(.loggedIn) = state, case .success(let look) = look, let expires = look.expires {
      setAlarm(for: expires, look, delivery)
    }
    if isNews { observation.handler.trigger(state) }
  }

  private func setAlarm(for moment: Date, _ look: SessionKeys<User>.Look, _ delivery: UInt64) {
    // A clock may be set, and a machine sleep: looking again now and then notices it.
    let wait = min(max(0, moment.timeIntervalSince(clock.now)) + 0.001, Self.longestWait)
    observation.queue.asyncAfter(deadline: .now() + wait) { [weak self] in
      guard let self, observation.deliveries.load(ordering: .relaxed) == delivery else { return }
      deliver(.success(look), always: false)
    }
  }

  /// Seconds until a credential's expiry is looked at again, at most.
  private static var longestWait: Double { 60 }
}

extension Result where Failure == StoreError {
  /// Whether an observer of `last` should hear of this. A state that says who is logged in may say it of someone else.
  func differs<User>(from last: Self, always: Bool) -> Bool where Success == SessionState<User> {
    switch (self, last) {
    case (.success(.loggedIn), .success(.loggedIn)): always
    case (.success(.loggedOut), .success(.loggedOut)), (.success(.expired), .success(.expired)),
      (.success(.locked), .success(.locked)):
      false
    case (.failure(let error), .failure(let other)): error.kind != other.kind || error.key != other.key
    default: true
    }
  }
}
