internal import CofferPlatform
internal import CofferStorage
internal import FoundationEssentials

/// The two keys of a session without the types that only they need.
struct SessionKeys<User: Sendable>: Sendable {
  /// What both keys say.
  struct Look: Sendable {
    let user: User?
    let hasCredential: Bool
    let expires: Date?
  }

  let credential: String
  /// Both values from one moment.
  let look: @Sendable () throws(StoreError) -> Look
  /// Whether the store of the user, which is open, has none. False where only a locked vault could tell.
  let isCertainlyAbsent: @Sendable () throws(StoreError) -> Bool
  let setUser: @Sendable (Transaction, User) throws(StoreError) -> Void
  let hasCredential: @Sendable (Transaction) throws(StoreError) -> Bool
  /// The present values and those that follow.
  let changes: @Sendable () throws(StoreError) -> ValueChanges<Look>

  init<R, Credential>(
    _ router: StorageRouter, _ user: StorageKey<User?, R>, _ credential: StorageKey<Sealed<Credential>?, Vault>
  ) {
    self.credential = credential.name
    look = { () throws(StoreError) in
      let (user, credential) = try router.values(user, credential)
      return Look(user: user, hasCredential: credential != nil, expires: credential?.expires)
    }
    let isPlain = R.self == Plain.self
    isCertainlyAbsent = { () throws(StoreError) in
      guard isPlain else { return false }
      return try router.value(for: user) == nil
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
