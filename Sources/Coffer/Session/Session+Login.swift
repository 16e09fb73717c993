internal import CofferPlatform
public import CofferStorage

extension Session {
  /// Logs `user` in: the credential, the preferences and whatever else `body` sets are stored in one step, in both stores or in
  /// neither. What ends with the session of whoever was logged in before goes in the same step.
  ///
  /// `body` may run again where something that it read has changed meanwhile; it has no other effects.
  ///
  /// - Throws: `StoreError` `.incomplete` when `body` set no credential; `.locked`, `.busy` and what
  ///   ``/CofferStorage/StorageRouter/transaction(_:)`` throws; what `body` throws. Nothing has changed then.
  public func login(as user: User, _ body: (Transaction) throws -> Void) throws {
    try router.transaction { transaction in
      try transaction.endSession()
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

  /// Logs out: every key declared with `endsWithSession()` goes from both stores in one step, or none does. Those of programs
  /// with other key spaces go too: items of the vault say it in their sealed metadata, plain keys stand in a list of the domain.
  ///
  /// Nothing happens where nobody is logged in. A refresh that is on its way in this or another process finds the credential gone
  /// and stores nothing.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/locked`` while the vault is locked, with nothing changed; what
  ///   ``/CofferStorage/StorageRouter/transaction(_:)`` throws.
  public func logout() throws {
    try router.transaction { try $0.endSession() }
    router.finishScrubbing()
  }
}
