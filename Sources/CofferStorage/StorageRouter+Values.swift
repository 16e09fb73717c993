public import CofferPlatform

extension StorageRouter {
  /// The value of `key`: its default, or nil, only when nothing is stored.
  ///
  /// It is read from one store at one moment. Between two such reads a transaction over both stores may take place, and while one does, a
  /// value of the vault may be the new one while a plain value is still the old one. ``values(_:)`` and ``transaction(_:)`` never show half.
  ///
  /// - Throws: ``/CofferPlatform/StoreError`` `.undecodable`, `.expired`, `.locked`, `.pending` and the store's own failures.
  @inlinable
  public func value<V, R>(for key: StorageKey<V, R>) throws(StoreError) -> V {
    guard try isSettled(key) else { return try unmovedValue(for: key) }
    // As a store's own value(for:) does; through that, the types would not be known where this is called, at twice the cost.
    do { return try key.read(R.store(of: self).load(key.name)) } catch { throw R.store(of: self).told(error, of: key.name) }
  }

  /// Stores `value`, or removes what is stored when it is nil. Acknowledged once it returns.
  ///
  /// - Throws: ``/CofferPlatform/StoreError`` `.unencodable`, `.tooLarge`, `.locked` and the store's own failures; nothing has changed then, unless the error
  ///   is ``/CofferPlatform/StoreError/Kind/outcomeUnknown``.
  @inlinable
  public func set<V, R>(_ value: V, for key: StorageKey<V, R>) throws(StoreError) {
    try checkNoTransaction()
    let form = try key.form(of: value)
    try admit(key, overwriting: true)
    if key.declaration.traits.endsWithSession { try noteSession(key) }
    do { try R.store(of: self).save(form, for: key.name) } catch { throw error.about(key: key.name) }
  }

  /// The values of several keys from one moment: no transaction over both stores shows half.
  ///
  /// - Throws: what ``value(for:)`` throws for any of them, ``/CofferPlatform/StoreError/Kind/locked`` naming the first key of the vault;
  ///   ``/CofferPlatform/StoreError/Kind/busy`` when the plain values kept changing while the vault was read.
  public func values<each V, each R>(_ keys: repeat StorageKey<each V, each R>) throws(StoreError) -> (repeat each V) {
    let snapshot = Transaction(on: self)
    repeat try snapshot.want(each keys)
    try load(snapshot)
    return (repeat try snapshot.value(for: each keys))
  }

  /// Changes the value in place, atomically across processes. It begins with what ``value(for:)`` gives, but for an override, which is
  /// neither read nor written: what a suite or a registered value has is changed in the domain's own copy.
  ///
  /// `body` runs under the store's lock: keep it short. A Coffer call inside it throws ``/CofferPlatform/StoreError/Kind/reentrant``.
  ///
  /// - Throws: ``/CofferPlatform/StoreError``, or what `body` throws; nothing has changed then, unless it is ``/CofferPlatform/StoreError/Kind/outcomeUnknown``.
  public func update<V, R>(_ key: StorageKey<V, R>, _ body: (inout V) throws -> Void) throws {
    try checkNoTransaction()
    try admit(key)
    if key.declaration.traits.endsWithSession { try noteSession(key) }
    try R.store(of: self).update(key, body)
  }

  /// Removes what is stored for `key`; nothing happens when nothing is.
  public func remove<V, R>(_ key: StorageKey<V, R>) throws(StoreError) {
    try checkNoTransaction()
    try admit(key, overwriting: true)
    do { try R.store(of: self).save(nil, for: key.name) } catch { throw error.about(key: key.name) }
  }

  /// Whether something is stored for `key`. Opens no value.
  public func contains<V, R>(_ key: StorageKey<V, R>) throws(StoreError) -> Bool {
    let names = try isSettled(key) ? [key.name] : key.names
    do throws(StoreError) {
      for name in names where try R.store(of: self).contains(name) { return true }
      return false
    } catch { throw error.about(key: key.name) }
  }

  /// Brings `key` back to its default by removing what is stored.
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
        decision: Decision(place: vault.place) { (_) throws(StoreError) in try snapshot.vault.loadWanted() })
    }
  }
}
