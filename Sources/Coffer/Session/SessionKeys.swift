internal import CofferPlatform
internal import CofferStorage
internal import FoundationEssentials

/// The two keys of a session, without their own types.
struct SessionKeys<User: Sendable>: Sendable {
  struct Look: Sendable {
    let user: User?
    let hasCredential: Bool
    let expires: Date?
  }

  let credential: String
  /// Whether an error is about the credential, which may still have a former name.
  let isOfCredential: @Sendable (StoreError) -> Bool
  let look: @Sendable () throws(StoreError) -> Look
  /// Whether the user's store has no user. False if only the vault could tell. Opens nothing.
  let isCertainlyAbsent: @Sendable () throws(StoreError) -> Bool
  let setUser: @Sendable (Transaction, User) throws(StoreError) -> Void
  let hasCredential: @Sendable (Transaction) throws(StoreError) -> Bool
  let changes: @Sendable () throws(StoreError) -> ValueChanges<Look>

  init<R, Credential>(
    _ router: StorageRouter, _ user: StorageKey<User?, R>, _ credential: StorageKey<Sealed<Credential>?, Vault>
  ) {
    self.credential = credential.name
    isOfCredential = { error in error.key.map { key in credential.names.contains { $0.hasSameBytes(as: key) } } ?? false }
    look = { () throws(StoreError) in
      let (user, credential) = try router.values(user, credential)
      return Look(user: user, hasCredential: credential != nil, expires: credential?.expires)
    }
    isCertainlyAbsent = { () throws(StoreError) in
      do throws(StoreError) { return try router.value(for: user) == nil } catch {
        guard user.traits.isSecret, [.locked, .noAgent, .expired, .clockBehind].contains(error.kind) else { throw error }
        return false
      }
    }
    setUser = { (transaction, value) throws(StoreError) in try transaction.set(value, for: user) }
    hasCredential = { (transaction) throws(StoreError) in try transaction.value(for: credential) != nil }
    changes = { () throws(StoreError) in
      try router.changes(of: user, credential).map { element, sight, _ in
        (element.map { Look(user: $0, hasCredential: $1 != nil, expires: $1?.expires) }, sight)
      }
    }
  }
}
