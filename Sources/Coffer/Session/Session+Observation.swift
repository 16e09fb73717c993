public import CofferPlatform
public import CofferStorage

extension Session {
  /// The state, or the error of its read.
  public typealias Observed = Result<State, StoreError>

  /// Calls `body` with the state now and at each change, while `owner` lives. An owner has one closure; a second one replaces
  /// the first.
  ///
  /// It reports committed states of any process, including expiry, and never half of a login or logout. `body` never gets the
  /// same state twice in a row. Of quick changes it may get only the last, and a renewed credential of the same user is no
  /// new state.
  ///
  /// The first call comes on the calling thread before this returns; later ones come one at a time on a queue of the store or
  /// the session. `body` may use the session. The observation keeps the session alive and releases its captures when it ends;
  /// after an owner's end, at the next change or within about a minute.
  ///
  /// - Returns: a canceller, to end it before `owner` does.
  /// - Throws: ``/CofferPlatform/StoreError/Kind/io(_:)`` if the system's limits on watches are reached.
  @discardableResult
  public func observe(
    _ owner: any AnyObject & Sendable, _ body: @escaping @Sendable (Observed) -> Void
  ) throws(StoreError) -> Handler<Void>.Canceller {
    try changes().observe(self, by: owner, body)
  }

  /// The same for an owner on the main actor: any object there, `Sendable` or not. The owner is held weakly and passed to
  /// `body`, which need not capture it. `actor` is `.shared`.
  ///
  /// - Returns: a canceller, to end it before `owner` does.
  /// - Throws: the errors of ``observe(_:_:)``.
  @MainActor @discardableResult
  public func observe<Owner: AnyObject>(
    _ owner: Owner, on actor: MainActor, _ body: @escaping @MainActor (Owner, Observed) -> Void
  ) throws(StoreError) -> Handler<Void>.Canceller {
    try changes().observe(self, onMainBy: owner, body)
  }

  /// The states as ``observe(_:_:)`` reports them. A slow loop gets the newest. The sequence ends when the router is closed,
  /// and keeps the session alive.
  ///
  /// - Throws: the errors of ``observe(_:_:)``.
  public func changes() throws(StoreError) -> ValueChanges<State> {
    let alarm = ExpiryAlarm()
    return try keys.changes().map { [self] look, sight, again in
      if case .success(let look) = look, let expires = look.expires { alarm.set(for: expires, by: clock, again) }
      let state = Result { () throws(StoreError) in try self.state(of: look) }
      return (state, Self.sight(of: state, in: sight))
    }
  }

  /// A type that no user has.
  private enum Nobody: Equatable { case loggedOut, expired, locked }

  private static func sight(of state: Observed, in sight: Sight) -> Sight {
    switch state {
    case .success(.loggedOut): .values([SeenValue(Nobody.loggedOut)])
    case .success(.expired): .values([SeenValue(Nobody.expired)])
    case .success(.locked): .values([SeenValue(Nobody.locked)])
    case .success(.loggedIn): if case .values(let seen) = sight { .values(Array(seen.prefix(1))) } else { sight }
    case .failure(let error): .failure(error.kind, key: error.key)
    }
  }
}
