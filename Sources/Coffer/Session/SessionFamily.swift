public import CofferPlatform
public import CofferStorage

/// The logins of a service's users, each a ``Session``. Their keys are members of families, named after the user.
///
/// ```swift
/// struct ServiceKeys: KeySpace {
///   let accounts = StorageKeyFamily("account", of: Account.self).endsWithSession()
///   let tokens = StorageKeyFamily("token", secret: Token.self).expires(\.expires).endsWithSession()
/// }
///
/// let sessions = try app.sessions(user: keys.accounts, credential: keys.tokens)
/// try await sessions["ada"].login(as: account) { try $0.set(Sealed(token), for: keys.tokens["ada"]) }
/// let token = try await sessions["ada"].refresh(keys.tokens["ada"]) { old in try await server.renew(old) }
/// try await sessions["ada"].logout()
/// ```
///
/// A user's logout removes the members of that name from every family declared with `endsWithSession()`, and nothing of other
/// users. The logout of the router's own ``Session`` ends the users' sessions too.
///
/// A name is checked when a session is used: see ``/CofferStorage/StorageKeyFamily/subscript(_:)``.
public struct SessionFamily<User: Sendable>: Sendable {
  private let router: StorageRouter
  private let keys: @Sendable (String) -> SessionKeys<User>
  private let names: @Sendable () throws(StoreError) -> [String]
  // One for all sessions. Otherwise each would start its own uptime.
  private let clock: SessionTime

  /// The sessions of a router.
  ///
  /// - Parameters:
  ///   - router: the stores' router.
  ///   - user: a description of each logged-in user, in either store.
  ///   - credential: the users' credentials.
  ///   - clock: the clock; the system's by default.
  /// - Throws: `StoreError` `.undeclared` for a family that the router does not know; `.incomplete` for one without
  ///   `endsWithSession()`, which a logout would leave behind.
  public init<UserRoute, Credential>(
    _ router: StorageRouter, user: StorageKeyFamily<User?, UserRoute>,
    credential: StorageKeyFamily<Sealed<Credential>?, Vault>, clock: SessionClock = .system
  ) throws(StoreError) {
    try Session<User>.check(user, isDeclared: router.declares(user), router)
    try Session<User>.check(credential, isDeclared: router.declares(credential), router)
    self.router = router
    keys = { name in SessionKeys(router, user[name], credential[name]) }
    names = { () throws(StoreError) in try router.members(of: credential) }
    self.clock = SessionTime(clock)
  }

  /// The session of the user called `name`. It is cheap: make one whenever you need it.
  public subscript(_ name: String) -> Session<User> { Session(router, keys(name), clock, member: name) }

  /// The users with a credential, even an expired one, in ascending order. Opens no value.
  ///
  /// - Throws: the errors of ``/CofferStorage/StorageRouter/members(of:)``.
  public func users() throws(StoreError) -> [String] { try names() }

  /// Logs all users out: one step removes all members of families declared with `endsWithSession()`, or none.
  ///
  /// - Throws: the errors of ``Session/logout()``.
  public func logout() throws {
    try router.transaction { try $0.endAllSessions() }
    router.finishScrubbing()
  }
}

// The compiler chooses these in asynchronous code, as those of ``Session``.
extension SessionFamily {
  /// The asynchronous form of ``users()``.
  nonisolated(nonsending) public func users(within limit: Duration? = nil) async throws(StoreError) -> [String] {
    try await CallQueues.call(within: limit, of: router.id, isRead: true) { () throws(StoreError) in try self.users() }
  }

  /// The asynchronous form of ``logout()``.
  nonisolated(nonsending) public func logout(within limit: Duration? = nil) async throws {
    try await CallQueues.callClosure(at: router.vault.place, within: limit, of: router.id) { try self.logout() }
  }
}

extension StorageRouter {
  /// The sessions of the users of this router's service.
  ///
  /// - Throws: the errors of ``/Coffer/SessionFamily/init(_:user:credential:clock:)``.
  public func sessions<User, UserRoute, Credential>(
    user: StorageKeyFamily<User?, UserRoute>, credential: StorageKeyFamily<Sealed<Credential>?, Vault>
  ) throws(StoreError) -> SessionFamily<User> {
    try SessionFamily(self, user: user, credential: credential)
  }
}
