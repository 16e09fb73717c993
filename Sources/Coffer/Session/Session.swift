public import CofferStorage
internal import Synchronization
public import SystemPackage

/// Who is logged in: the one owner of that, for a program and all processes that share its stores.
///
/// ```swift
/// let session = try Session(app, user: keys.user, credential: keys.token)
/// try session.login(as: ada) { transaction in
///   try transaction.set(Sealed(token), for: keys.token)
///   try transaction.set(.dark, for: keys.theme)
/// }
/// try session.observe(self) { [weak self] state in self?.show(state) }
/// let token = try await session.refresh(keys.token) { old in try await server.renew(old) }
/// try session.logout()
/// ```
///
/// A login and a logout happen in both stores or in neither, also across the death of the process. What a session leaves behind
/// is decided by the keys: every one declared with `endsWithSession()` goes with it.
///
/// A clock that is set back while the session lives does not lengthen a credential's life: time that has passed by the
/// machine's uptime has passed. Where the clock stands a day or more behind the vault's last write, expiry cannot be judged, and the state
/// is ``SessionState/expired`` until the credential is renewed or the clock is set.
public final class Session<User: Sendable>: Sendable {
  let router: StorageRouter
  let keys: SessionKeys<User>
  let clock: SessionTime
  let lockFolder: FilePath?
  let gate = RefreshGate()
  let observation = SessionObservation<User>()

  /// The session of a router.
  ///
  /// - Parameters:
  ///   - router: what holds the stores.
  ///   - user: the key of who is logged in, in either store.
  ///   - credential: the key of what proves it.
  ///   - clock: what tells the time; a test's own, or the system's.
  ///   - lockFolder: where the lock file of ``refresh(_:replacing:within:_:)`` is made, the run folder of
  ///     ``/CofferStorage/StorageRouter/session(user:credential:places:)``; nil where no other process uses the stores.
  /// - Throws: `StoreError` `.undeclared` for a key that the router does not know; `.refused` for one without `endsWithSession()`,
  ///   which a logout would leave behind.
  public init<UserRoute, Credential>(
    _ router: StorageRouter, user: StorageKey<User?, UserRoute>, credential: StorageKey<Sealed<Credential>?, Vault>,
    clock: SessionClock = .system, lockFolder: FilePath? = nil
  ) throws(StoreError) {
    try Self.check(user, router)
    try Self.check(credential, router)
    self.router = router
    keys = SessionKeys(router, user, credential)
    self.clock = SessionTime(clock)
    self.lockFolder = lockFolder
  }

  deinit { observation.end() }

  private static func check<Value, R>(_ key: StorageKey<Value, R>, _ router: StorageRouter) throws(StoreError) {
    guard router.declared[key.name]?.site == key.site else {
      throw StoreError(
        .undeclared, "not among the router's key spaces; declared at \(key.site)", key: key.name,
        cure: "pass its key space to the router's keys: argument")
    }
    guard key.traits.endsWithSession else {
      throw StoreError(
        .refused, "a key of the session that a logout would leave behind; declared at \(key.site)", key: key.name,
        cure: "declare it with .endsWithSession()")
    }
  }
}

/// Whether somebody is logged in.
public enum SessionState<User: Sendable>: Sendable {
  /// Nobody.
  case loggedOut
  /// This user, with a credential that has not expired.
  case loggedIn(User)
  /// Somebody whose credential has expired: renew it, or log in again.
  case expired
  /// The vault is locked, so the credential is out of reach.
  case locked

  /// Who is logged in; nil in every other state.
  public var user: User? {
    if case .loggedIn(let user) = self { user } else { nil }
  }
}

extension SessionState: Equatable where User: Equatable {}

extension StorageRouter {
  /// The session of this router's user, whose refreshes exclude one another across processes.
  ///
  /// - Parameters:
  ///   - user: the key of who is logged in.
  ///   - credential: the key of what proves it.
  ///   - places: as given at open; their run folder, or the state's where the system provides none, holds the lock.
  /// - Throws: what ``/Coffer/Session/init(_:user:credential:clock:lockFolder:)`` throws.
  public func session<User, UserRoute, Credential>(
    user: StorageKey<User?, UserRoute>, credential: StorageKey<Sealed<Credential>?, Vault>, places: Places? = nil
  ) throws(StoreError) -> Session<User> {
    let places = try places.orStandard()
    return try Session(self, user: user, credential: credential, lockFolder: places.run ?? places.state)
  }
}
