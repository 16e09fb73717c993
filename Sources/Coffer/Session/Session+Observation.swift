public import CofferPlatform
public import CofferStorage
internal import FoundationEssentials

extension Session {
  /// What observers get: the state, or why it cannot be told.
  public typealias Observed = Result<State, StoreError>

  /// Calls `body` with the state now, and then whenever it is another, for as long as `owner` lives. An owner has one closure; a
  /// second one takes the place of the first.
  ///
  /// Only what is committed is told, by this process or another, and never half of a login or a logout. That the credential has
  /// expired is told as well. `body` never gets the same state twice in a row: of logins and logouts in quick succession it may
  /// get the last alone, and a renewed credential of the same user is no other state.
  ///
  /// It is called with the present state on the calling thread, before this returns, and later on a queue of the store's or of
  /// the session's, one call after the other; it may use the session. The observation keeps the session alive. What it held is
  /// released when it ends; after an owner's end, at the next change or within about a minute.
  ///
  /// - Returns: what ends it before `owner` does.
  /// - Throws: ``/CofferPlatform/StoreError/Kind/io(_:)`` where the system's limits on watches are reached.
  @discardableResult
  public func observe(
    _ owner: any AnyObject & Sendable, _ body: @escaping @Sendable (Observed) -> Void
  ) throws(StoreError) -> Handler<Void>.Canceller {
    try changes().observe(self, by: owner, body)
  }

  /// The same on the main actor, for what belongs to it: a window, a view's model, any object there, `Sendable` or not. `body`
  /// gets the owner, which is held weakly, and so need not capture it. `actor` is `.shared`.
  ///
  /// - Returns: what ends it before `owner` does.
  /// - Throws: what ``observe(_:_:)`` throws.
  @MainActor @discardableResult
  public func observe<Owner: AnyObject>(
    _ owner: Owner, on actor: MainActor, _ body: @escaping @MainActor (Owner, Observed) -> Void
  ) throws(StoreError) -> Handler<Void>.Canceller {
    try changes().observe(self, onMainBy: owner, body)
  }

  /// The present state and those that follow, as ``observe(_:_:)`` tells them; a loop slower than the changes gets the newest. It
  /// ends when the router is closed, and keeps the session alive.
  ///
  /// - Throws: what ``observe(_:_:)`` throws.
  public func changes() throws(StoreError) -> ValueChanges<State> {
    let alarm = ExpiryAlarm()
    return try keys.changes().map { [self] look, sight, again in
      if case .success(let look) = look, let expires = look.expires { alarm.set(for: expires, by: clock, again) }
      let state = Result { () throws(StoreError) in try self.state(of: look) }
      return (state, Self.sight(of: state, in: sight))
    }
  }

  /// The states of no user, told apart by a type that no user is of.
  private enum Nobody: Equatable { case loggedOut, expired, locked }

  /// What tells a state from the next: which one it is, and of whom.
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
