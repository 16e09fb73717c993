public import CofferPlatform
public import CofferStorage

/// The login of a program and of all processes that share its stores.
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
/// A login or logout happens in both stores or in neither, even if the process dies. A logout removes every key declared with
/// `endsWithSession()`.
///
/// Setting the clock back during the session does not lengthen a credential's life: the machine's uptime counts. If the clock
/// is a day or more behind the vault's last write, expiry cannot be judged. The state is then ``State/expired`` until the
/// credential is renewed or the clock is set.
public final class Session<User: Sendable>: Sendable {
  package let router: StorageRouter
  let keys: SessionKeys<User>
  let clock: SessionTime
  /// The user's name in a ``SessionFamily``; nil for the router's only session.
  let member: String?

  /// The session of a router.
  ///
  /// - Parameters:
  ///   - router: the router of the stores.
  ///   - user: the key of the logged-in user, in either store.
  ///   - credential: the key of the user's credential.
  ///   - clock: the clock; the system's by default.
  /// - Throws: `StoreError` `.undeclared` for a key that the router does not know; `.incomplete` for one without
  ///   `endsWithSession()`, which a logout would leave behind.
  public convenience init<UserRoute, Credential>(
    _ router: StorageRouter, user: StorageKey<User?, UserRoute>, credential: StorageKey<Sealed<Credential>?, Vault>,
    clock: SessionClock = .system
  ) throws(StoreError) {
    try Self.check(user, isDeclared: router.declares(user), router)
    try Self.check(credential, isDeclared: router.declares(credential), router)
    self.init(router, SessionKeys(router, user, credential), SessionTime(clock), member: nil)
  }

  init(_ router: StorageRouter, _ keys: SessionKeys<User>, _ clock: SessionTime, member: String?) {
    (self.router, self.keys, self.clock, self.member) = (router, keys, clock, member)
  }

  static func check(_ key: any DeclaredKey, isDeclared: Bool, _ router: StorageRouter) throws(StoreError) {
    guard isDeclared else { throw router.undeclared(key) }
    guard key.traits.endsWithSession else {
      throw StoreError(
        .incomplete, "a key of the session that a logout would leave behind; declared at \(key.site)", key: key.name,
        cure: "declare it with .endsWithSession()")
    }
  }
}

extension Session {
  /// The state of the login.
  public enum State: Sendable {
    /// No user is logged in.
    case loggedOut
    /// This user is logged in, with a valid credential.
    case loggedIn(User)
    /// The credential has expired: renew it, or log in again.
    case expired
    /// The vault is locked, so the credential is out of reach.
    case locked

    /// The logged-in user; nil in every other state.
    public var user: User? {
      if case .loggedIn(let user) = self { user } else { nil }
    }
  }
}

extension Session.State: Equatable where User: Equatable {}

extension StorageRouter {
  /// The session of this router's user.
  ///
  /// - Throws: the errors of ``/Coffer/Session/init(_:user:credential:clock:)``.
  public func session<User, UserRoute, Credential>(
    user: StorageKey<User?, UserRoute>, credential: StorageKey<Sealed<Credential>?, Vault>
  ) throws(StoreError) -> Session<User> {
    try Session(self, user: user, credential: credential)
  }
}
