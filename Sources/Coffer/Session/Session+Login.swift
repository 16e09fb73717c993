public import CofferPlatform
public import CofferStorage

extension Session {
  /// Logs `user` in. One step stores everything that `body` sets in both stores or in neither, and removes what ends with the
  /// previous session.
  ///
  /// `body` may run again if a value that it read has changed meanwhile. Give it no other effects.
  ///
  /// - Throws: `StoreError` `.incomplete` when `body` set no credential; `.locked`, `.busy` and the errors of
  ///   `StorageRouter.transaction(_:)`; the error of `body`. Nothing has changed then.
  public func login(as user: User, _ body: (Transaction) throws -> Void) throws {
    try router.transaction { transaction in
      try transaction.endSession(of: member)
      try keys.setUser(transaction, user)
      try body(transaction)
      guard try keys.hasCredential(transaction) else {
        throw StoreError(
          .incomplete, "a login without a credential", key: keys.credential,
          cure: "set it in the closure of login(as:_:); nothing was changed")
      }
    }
    router.finishScrubbing()
  }

  /// Logs out: one step removes every key declared with `endsWithSession()` from both stores, or none. This includes keys of
  /// other programs: vault items carry the mark in their sealed metadata, and the domain lists plain keys.
  ///
  /// A session of a ``SessionFamily`` ends only for its user: the members of that name leave all families declared with
  /// `endsWithSession()`.
  ///
  /// Nothing happens without a login. A refresh under way in any process finds the credential gone and stores nothing.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/locked`` while the vault is locked, with nothing changed; the errors of
  ///   `StorageRouter.transaction(_:)`.
  public func logout() throws {
    try router.transaction { try $0.endSession(of: member) }
    router.finishScrubbing()
  }
}

// The compiler chooses these in asynchronous code. They throw the errors of the synchronous forms; `.cancelled` or `.closed` if
// the task is cancelled or the router closed during a wait. Nothing has changed after these two.
extension Session {
  /// The asynchronous form of ``login(as:_:)``. `body` runs on another thread.
  nonisolated(nonsending) public func login(
    as user: User, within limit: Duration? = nil, _ body: @escaping @Sendable (Transaction) throws -> Void
  ) async throws {
    try await CallQueues.callClosure(at: router.vault.place, within: limit, of: router.id) {
      try self.login(as: user, body)
    }
  }

  /// The asynchronous form of ``logout()``.
  nonisolated(nonsending) public func logout(within limit: Duration? = nil) async throws {
    try await CallQueues.callClosure(at: router.vault.place, within: limit, of: router.id) { try self.logout() }
  }

  /// The asynchronous form of ``state()``.
  nonisolated(nonsending) public func state(within limit: Duration? = nil) async throws(StoreError) -> State {
    try await CallQueues.call(within: limit, of: router.id, isRead: true) { () throws(StoreError) in try self.state() }
  }
}
