public import CofferPlatform

extension StorageRouter {
  /// The value of `key`: its default, or nil, only when nothing is stored.
  ///
  /// It is read from one store at one moment. Between two such reads a transaction over both stores may take place, and while one
  /// does, a value of the vault may be the new one while a plain value is still the old one. ``values(_:)`` and
  /// `transaction(_:)` never show half.
  ///
  /// - Throws: ``/CofferPlatform/StoreError`` `.undecodable`, `.expired`, `.locked`, `.pending` and the store's own failures.
  @inlinable
  public func value<V, R>(for key: StorageKey<V, R>) throws(StoreError) -> V {
    guard try isSettled(key) else { return try unmovedValue(for: key) }
    // As a store's own value(for:) does; through that, the types would not be known where this is called, at twice the cost.
    do { return try key.read(R.store(of: self).load(key.name)) } catch { throw R.store(of: self).told(error, of: key.name) }
  }

  /// Stores `value`, or removes the stored value if it is nil. Acknowledged once it returns.
  ///
  /// A value of an older program that cannot be moved is dropped in the same step.
  ///
  /// - Throws: ``/CofferPlatform/StoreError`` `.unencodable`, `.tooLarge`, `.locked` and the store's own failures; nothing has
  ///   changed then, unless the error is ``/CofferPlatform/StoreError/Kind/outcomeUnknown``, or
  ///   ``/CofferPlatform/StoreError/Kind/pending(_:)`` for a secret with a plain copy that is dropped.
  @inlinable
  public func set<V, R>(_ value: V, for key: StorageKey<V, R>) throws(StoreError) {
    try checkNoTransaction()
    let form = try key.form(of: value)
    let former = try key.admitReplacing(on: self)
    if key.declaration.traits.endsWithSession { try noteSession(key) }
    if let former { return try key.replace(by: form, with: former, on: self) }
    do { try R.store(of: self).save(form, for: key.name) } catch { throw error.about(key: key.name) }
  }

  /// The values of several keys from one moment: no transaction over both stores shows half.
  ///
  /// - Throws: what ``value(for:)`` throws for any of them, ``/CofferPlatform/StoreError/Kind/locked`` naming the first key of
  ///   the vault; ``/CofferPlatform/StoreError/Kind/busy`` when the plain values kept changing while the vault was read.
  public func values<each V, each R>(_ keys: repeat StorageKey<each V, each R>) throws(StoreError) -> (repeat each V) {
    let snapshot = Transaction(on: self)
    repeat try snapshot.want(each keys)
    try load(snapshot)
    return (repeat try snapshot.value(for: each keys))
  }

  /// Changes the value in place, atomically across processes. It begins with the result of ``value(for:)`` without overrides,
  /// which it neither reads nor writes. A value of a suite or a registered one is changed in the domain's own copy.
  ///
  /// `body` runs under the store's lock: keep it short. A Coffer call inside it throws
  /// ``/CofferPlatform/StoreError/Kind/reentrant``.
  ///
  /// - Throws: ``/CofferPlatform/StoreError``, or the error of `body`; nothing has changed then, unless it is
  ///   ``/CofferPlatform/StoreError/Kind/outcomeUnknown``.
  public func update<V, R>(_ key: StorageKey<V, R>, _ body: (inout V) throws -> Void) throws {
    if let failure = try updating(key, body) { throw failure }
  }

  /// The same for a closure that throws nothing or declares `throws(StoreError)`.
  public func update<V, R>(_ key: StorageKey<V, R>, _ body: (inout V) throws(StoreError) -> Void) throws(StoreError) {
    if let failure = try updating(key, body) { throw StoreError.thrown(failure) }
  }

  /// The error of `body`. The run time would make the type of a generic `Result`, at a third of an update's cost.
  func updating<V, R>(_ key: StorageKey<V, R>, _ body: (inout V) throws -> Void) throws(StoreError) -> (any Error)? {
    try checkNoTransaction()
    try admit(key)
    if key.declaration.traits.endsWithSession { try noteSession(key) }
    return try R.store(of: self).updating(key, body)
  }

  /// Removes the value of `key`, and in the same step the value of an older program that cannot be moved. Does nothing if there
  /// is none.
  public func remove<V, R>(_ key: StorageKey<V, R>) throws(StoreError) {
    try checkNoTransaction()
    if let former = try key.admitReplacing(on: self) { return try key.replace(by: nil, with: former, on: self) }
    do { try R.store(of: self).save(nil, for: key.name) } catch { throw error.about(key: key.name) }
  }

  /// Whether something is stored for `key`. Opens no value.
  public func contains<V, R>(_ key: StorageKey<V, R>) throws(StoreError) -> Bool {
    let names = try isSettled(key) ? [key.name] : key.names
    do throws(StoreError) {
      for name in names where try R.contains(name, in: self) { return true }
      return false
    } catch { throw error.about(key: key.name) }
  }

  /// Brings `key` back to its default by removing its value.
  public func reset<V, R>(_ key: StorageKey<V, R>) throws(StoreError) { try remove(key) }

  /// Whether nothing is stored for `key`, so that it reads as its default.
  public func isDefault<V, R>(_ key: StorageKey<V, R>) throws(StoreError) -> Bool { try !contains(key) }

  func load(_ snapshot: Transaction) throws(StoreError) {
    guard snapshot.plain.isTouched, snapshot.vault.isTouched else {
      try snapshot.plain.loadWanted()
      return try snapshot.vault.loadWanted()
    }
    // A transaction over both stores holds the plain store's lock from its prepare to its end. The vault is read under that
    // same lock, and only while the plain values are still those just read.
    try retryingConflicts { () throws(StoreError) in
      try snapshot.plain.loadWanted()
      try plain.commit(
        snapshot.plain.batch,
        decision: Decision(place: vault.place, kind: .comparison) { (_) throws(StoreError) in
          try snapshot.vault.loadWanted()
        })
    }
  }
}

extension StorageRouter {
  /// How often a transaction runs before it gives up: a conflict means that someone else got through, so that many in a row
  /// mean a key too busy for this, and `update` is the right call.
  static let attempts = 16

  /// Writes to both stores happen together or not at all, also across a crash, and only if nothing that was read has changed.
  ///
  /// `body` runs first, without any lock, and its writes are kept back. When something it read has changed by then it runs again,
  /// so it must have no effects but its writes. It is not asynchronous: nothing waits on a network under a lock. A write through
  /// the router inside it throws ``/CofferPlatform/StoreError/Kind/reentrant``: that would be no part of the transaction. Another
  /// router, a store and another service's store are no part of it either: what is written through one inside `body` is committed
  /// at once, and stays.
  ///
  /// - Returns: what `body` returns.
  /// - Throws: ``/CofferPlatform/StoreError/Kind/busy`` after 16 runs; what `body` throws, unchanged, with nothing written;
  ///   ``/CofferPlatform/StoreError/Kind/pending(_:)`` when the transaction's outcome is not known yet, or the plain store has
  ///   yet to finish it: its plain keys throw the same until the outcome is learnt, and then all of it was made, or nothing;
  ///   ``/CofferPlatform/StoreError/Kind/outcomeUnknown`` when only the vault was written, and whether it was is not known; what
  ///   the stores throw, with nothing written.
  public func transaction<Value>(_ body: (Transaction) throws -> Value) throws -> Value { try running(body).get() }

  /// The same for a closure that throws nothing or declares `throws(StoreError)`.
  public func transaction<Value>(_ body: (Transaction) throws(StoreError) -> Value) throws(StoreError) -> Value {
    do { return try running(body).get() } catch { throw StoreError.thrown(error) }
  }

  func running<Value>(_ body: (Transaction) throws -> Value) throws(StoreError) -> Result<Value, any Error> {
    try checkNoTransaction()
    return try retryingConflicts { () throws(StoreError) in
      let transaction = Transaction(on: self)
      let outcome = Result { try Reentrancy.insideTransaction(of: id) { try body(transaction) } }
      transaction.end()
      try Waiting.refuseAgain()
      switch outcome {
      case .success: try transaction.commit()
      case .failure: try checkReads(of: transaction)
      }
      return outcome
    }
  }

  /// Throws ``/CofferPlatform/StoreError/Kind/reentrant`` inside a closure of ``transaction(_:)``.
  @usableFromInline
  func checkNoTransaction() throws(StoreError) { try Reentrancy.checkTransaction(id, plain.place) }

  /// Runs `attempt` until it throws something else than a conflict.
  func retryingConflicts<Value>(_ attempt: () throws(StoreError) -> Value) throws(StoreError) -> Value {
    for _ in 0..<Self.attempts {
      do { return try attempt() } catch { guard error.kind == .conflict else { throw error } }
    }
    throw StoreError(
      .busy, "the values read changed \(Self.attempts) times before they could be used", place: plain.place,
      cure: "try again, or change a single hot key with update(_:)")
  }

  /// Throws a conflict when the closure failed on values that were stale: its complaint is then about nothing that ever was.
  private func checkReads(of transaction: Transaction) throws(StoreError) {
    transaction.plain.writes = [:]
    transaction.vault.writes = [:]
    do { try commit(transaction.plain.batch, transaction.vault.batch) } catch {
      // Any other failure must not stand in front of the closure's own.
      if error.kind == .conflict { throw error }
    }
  }

  func commit(_ plainBatch: Batch<Plain>, _ vaultBatch: Batch<Vault>) throws(StoreError) {
    switch (plainBatch.isEmpty, vaultBatch.isEmpty) {
    case (true, true): return
    case (false, true): try plain.commit(plainBatch, decision: nil)
    case (true, false): try vault.commit(vaultBatch, decision: nil)
    case (false, false): try commitBoth(plainBatch, vaultBatch)
    }
  }

  /// The plain store prepares, the vault decides. Locks are taken in this order everywhere, so that no two wait for each other.
  private func commitBoth(_ plainBatch: Batch<Plain>, _ vaultBatch: Batch<Vault>) throws(StoreError) {
    // Before the plain store prepares.
    try Waiting.refuse(at: vault.place)
    // With writes on one side only there is nothing that could come apart, and no outcome to record.
    let isDivisible = !plainBatch.writes.isEmpty && !vaultBatch.writes.isEmpty
    var decided: TransactionID?
    var isMade = false
    let shared = { [vault] (companion: any CompanionWrites) throws(StoreError) in
      var batch = vaultBatch
      batch.companion = companion
      try vault.commit(batch, decision: nil)
      isMade = true
    }
    let canShare = vault.decisions?.sharesTransactions == true
    let kind: Decision.Kind = vaultBatch.writes.isEmpty ? .comparison : canShare ? .shared(shared) : .own
    let decision = Decision(place: vault.place, kind: kind) { [vault] (id) throws(StoreError) in
      var batch = vaultBatch
      batch.decides = isDivisible ? id : nil
      try vault.commit(batch, decision: nil)
      decided = batch.decides
      isMade = true
    }
    do throws(StoreError) { try plain.commit(plainBatch, decision: decision) } catch {
      if isMade && plainBatch.writes.isEmpty { return }  // The vault has all of it; only the lock was wanted here.
      guard let decided else { throw error }
      throw StoreError(
        .pending(decided), "the vault has its part; the plain store has yet to take its own", place: plain.place,
        cure: "make that place writable: the transaction takes effect at the next access", underlying: error)
    }
    guard let decided else { return }
    // Everything is done. A record that cannot be dropped now says nothing of items, and the plain store's next fold drops it.
    do throws(StoreError) {
      try vault.commit(Batch(forgetting: decided), decision: nil)
      try plain.commit(Batch(forgetting: decided), decision: nil)
    } catch {}
  }
}

extension Batch {
  var isEmpty: Bool { expectations.isEmpty && writes.isEmpty }
}

extension StorageRouter {
  /// The members of `family` that have a value, ascending, each by what ``StorageKeyFamily/subscript(_:)`` takes. Opens no value.
  ///
  /// A secret that has expired is among them, and so is a preference that only a command line or the source has a value for.
  /// Members that still lie where an older program stored them are moved first; one that cannot be is listed, and its first use
  /// says why.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/undeclared``, ``/CofferPlatform/StoreError/Kind/locked`` and the store's own
  ///   failures.
  public func members<V, R>(of family: StorageKeyFamily<V, R>) throws(StoreError) -> [String] {
    guard declares(family) else { throw undeclared(family) }
    try settle(family)
    let unmoved = settleMembers(of: family)
    let stored: [String]
    do { stored = try R.store(of: self).names() } catch { throw error.about(key: family.prefix) }
    let length = family.prefix.utf8.count
    let names = Set(stored.filter(family.owns)).union(unmoved).filter { $0.utf8.count > length && StoredName.isValid($0) }
    return names.compactMap { String($0.utf8.dropFirst(length)) }.sorted()
  }

  /// Whether this router was given `family`.
  package func declares<V, R>(_ family: StorageKeyFamily<V, R>) -> Bool {
    keys.families.contains { $0.name == family.prefix && $0.site == family.site && $0 is StorageKeyFamily<V, R> }
  }

  /// Whether this router was given `key`, or the family of which it is a member.
  package func declares<V, R>(_ key: StorageKey<V, R>) -> Bool {
    if let known = declared[key.name] { return known.site == key.site && known is StorageKey<V, R> }
    guard let family = keys.family(of: key.name) else { return false }
    return family.site == key.site && family is StorageKeyFamily<V, R>
  }

  /// Checks a member when it is used: its name, and that no layer has a value for it in the clear.
  func checkMember<V, R>(_ key: StorageKey<V, R>) throws(StoreError) {
    guard declared[key.name] == nil, let family = keys.family(of: key.name) else { return }
    guard key.name.utf8.count > family.name.utf8.count else {
      throw StoreError(
        .invalidName, "a member has no name, of the family declared at \(key.site)", key: key.name,
        cure: "give the member a name of at least one byte")
    }
    do { try StoredName.check(key.name) } catch {
      throw StoreError(error.kind, "\(error.what), of the family declared at \(key.site)", cure: error.cure)
    }
    try refuseUnstoredSecret(key)
    try settle(family)
  }
}

extension StorageRouter {
  /// Lists `key` among those that a logout removes, before it has a value.
  @usableFromInline
  func noteSession<V, R>(_ key: StorageKey<V, R>) throws(StoreError) {
    guard R.self == Plain.self, try !plain.sessionNames().contains(key.name) else { return }
    let prefix = keys.family(of: key.name)?.name
    try plain.update(ReservedName.endsWithSession) { [plain] (list) throws(StoreError) in
      try SessionNames(list, in: plain.place).adding(key.name, ofFamily: prefix) ?? list
    }
  }
}
