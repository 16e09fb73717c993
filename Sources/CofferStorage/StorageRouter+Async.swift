public import CofferPlatform

// The compiler chooses these in asynchronous code. A call that need not wait runs in place, at the cost of the synchronous
// form; others wait on one of Coffer's threads.
extension StorageRouter {
  /// The asynchronous form of ``set(_:for:)``.
  ///
  /// - Parameters:
  ///   - value: the new value; nil removes the stored one.
  ///   - key: the key.
  ///   - limit: the longest wait; by default that of the synchronous form.
  /// - Throws: the errors of the synchronous form; ``/CofferPlatform/StoreError/Kind/busy`` at the limit;
  ///   ``/CofferPlatform/StoreError/Kind/cancelled`` or ``/CofferPlatform/StoreError/Kind/closed`` if the task is cancelled or
  ///   the router closed during the wait. Nothing has changed after these three.
  @inlinable
  nonisolated(nonsending) public func set<V, R>(_ value: V, for key: StorageKey<V, R>, within limit: Duration? = nil)
    async throws(StoreError)
  {
    // Not through CallQueues.call: its closure would be allocated each time.
    if case .refused(let lock) = try Waiting.attempt({ () throws(StoreError) in try set(value, for: key) }) {
      try await CallQueues.run(at: lock, within: limit, of: id) { () throws(StoreError) in try self.set(value, for: key) }
    }
  }

  /// The asynchronous form of `update(_:_:)`. `body` may run twice.
  /// Also throws the errors of ``set(_:for:within:)``.
  nonisolated(nonsending) public func update<V, R>(
    _ key: StorageKey<V, R>, within limit: Duration? = nil, _ body: @escaping @Sendable (inout V) throws -> Void
  ) async throws {
    let failure = try await CallQueues.call(within: limit, of: id) { () throws(StoreError) in try self.updating(key, body) }
    if let failure { throw failure }
  }

  /// The same for a closure that throws nothing or declares `throws(StoreError)`.
  nonisolated(nonsending) public func update<V, R>(
    _ key: StorageKey<V, R>, within limit: Duration? = nil, _ body: @escaping @Sendable (inout V) throws(StoreError) -> Void
  ) async throws(StoreError) {
    try await CallQueues.call(within: limit, of: id) { () throws(StoreError) in try self.update(key, body) }
  }

  /// The asynchronous form of ``remove(_:)``. Throws the errors of ``set(_:for:within:)``.
  nonisolated(nonsending) public func remove<V, R>(_ key: StorageKey<V, R>, within limit: Duration? = nil)
    async throws(StoreError)
  {
    try await CallQueues.call(within: limit, of: id) { () throws(StoreError) in try self.remove(key) }
  }

  /// The asynchronous form of ``reset(_:)``. Throws the errors of ``set(_:for:within:)``.
  nonisolated(nonsending) public func reset<V, R>(_ key: StorageKey<V, R>, within limit: Duration? = nil) async throws(StoreError)
  {
    try await remove(key, within: limit)
  }

  /// The asynchronous form of `transaction(_:)`. `body` may run on another thread.
  /// Also throws the errors of ``set(_:for:within:)``.
  nonisolated(nonsending) public func transaction<Value: Sendable>(
    within limit: Duration? = nil, _ body: @escaping @Sendable (Transaction) throws -> Value
  ) async throws -> Value {
    try await CallQueues.call(within: limit, of: id) { () throws(StoreError) in try self.running(body) }.get()
  }

  /// The same for a closure that throws nothing or declares `throws(StoreError)`.
  nonisolated(nonsending) public func transaction<Value: Sendable>(
    within limit: Duration? = nil, _ body: @escaping @Sendable (Transaction) throws(StoreError) -> Value
  ) async throws(StoreError) -> Value {
    try await CallQueues.call(within: limit, of: id) { () throws(StoreError) in try self.transaction(body) }
  }
}

extension StorageRouter {
  /// Ends the waits of asynchronous calls through this router with `.closed`.
  package func endWaits() { CallQueues.close(id) }
}

// Reads of preferences never wait, and have no asynchronous form.
extension StorageRouter {
  /// The asynchronous form of ``value(for:)`` for a key of the vault. Also throws the errors of ``set(_:for:within:)``.
  nonisolated(nonsending) public func value<V>(for key: StorageKey<V, Vault>, within limit: Duration? = nil)
    async throws(StoreError) -> V
  {
    try await CallQueues.call(within: limit, of: id, isRead: true) { () throws(StoreError) in try self.value(for: key) }
  }

  /// Forbidden: a name has no type. This form also makes the compiler explain a misspelled key.
  @available(*, unavailable, message: "declare a key in a key space, and give that: app.value(for: keys.theme)")
  public func value(for name: String) throws(StoreError) { fatalError("unavailable") }

  /// The asynchronous form of ``values(_:)``. Also throws the errors of ``set(_:for:within:)``.
  nonisolated(nonsending) public func values<each V: Sendable, each R>(
    _ keys: repeat StorageKey<each V, each R>, within limit: Duration? = nil
  ) async throws(StoreError) -> (repeat each V) {
    let keys = (repeat each keys)
    return try await CallQueues.call(within: limit, of: id, isRead: true) { () throws(StoreError) in
      try self.values(repeat each keys)
    }
  }

  /// The asynchronous form of ``contains(_:)`` for a key of the vault. Also throws the errors of ``set(_:for:within:)``.
  nonisolated(nonsending) public func contains<V>(_ key: StorageKey<V, Vault>, within limit: Duration? = nil)
    async throws(StoreError) -> Bool
  {
    try await CallQueues.call(within: limit, of: id, isRead: true) { () throws(StoreError) in try self.contains(key) }
  }

  /// The asynchronous form of ``isDefault(_:)`` for a key of the vault. Also throws the errors of ``set(_:for:within:)``.
  nonisolated(nonsending) public func isDefault<V>(_ key: StorageKey<V, Vault>, within limit: Duration? = nil)
    async throws(StoreError) -> Bool
  {
    try await !contains(key, within: limit)
  }

  /// The asynchronous form of ``members(of:)`` for a family of secrets. Also throws the errors of ``set(_:for:within:)``.
  nonisolated(nonsending) public func members<V>(
    of family: StorageKeyFamily<V, Vault>, within limit: Duration? = nil
  ) async throws(StoreError) -> [String] {
    try await CallQueues.call(within: limit, of: id, isRead: true) { () throws(StoreError) in try self.members(of: family) }
  }
}
