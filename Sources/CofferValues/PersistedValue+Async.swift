public import CofferPlatform
public import CofferStorage

// In asynchronous code the compiler takes these.
extension ThrowingPersistedValue {
  /// The asynchronous form of ``save(_:)``.
  ///
  /// - Parameter limit: the longest wait; by default as long as the synchronous form waits.
  /// - Throws: the errors of the synchronous form; ``/CofferPlatform/StoreError/Kind/cancelled`` if the task is cancelled
  ///   during the wait; nothing has changed then.
  nonisolated(nonsending) public func save(_ value: Value, within limit: Duration? = nil) async throws(StoreError) {
    try await CallQueues.call(within: limit) { () throws(StoreError) in
      try self.save(value)
      // A closure of the caller's may be what stores it, and may have dropped the error.
      try Waiting.refuseAgain()
    }
  }

  /// The asynchronous form of ``mutate(_:)``. `body` runs again if a try in place has to give up after it.
  /// It throws the errors of ``save(_:within:)`` too.
  nonisolated(nonsending) public func mutate(
    within limit: Duration? = nil, _ body: @escaping @Sendable (inout Value) throws -> Void
  ) async throws {
    // Two steps are never repeated.
    try await CallQueues.callClosure(at: mutatesAtomically ? nil : "a handle", within: limit) { try self.mutate(body) }
  }
}

extension ThrowingPersistedValue where Sensitivity == Vault {
  /// The asynchronous form of ``load()`` for a value of a vault. It throws the errors of ``save(_:within:)`` too.
  nonisolated(nonsending) public func load(within limit: Duration? = nil) async throws(StoreError) -> Value {
    try await CallQueues.call(within: limit, isRead: true) { () throws(StoreError) in try self.load() }
  }
}

extension KeyValueStorage where R == Plain {
  /// The asynchronous form of ``setValue(_:forKey:)``.
  nonisolated(nonsending) public func setValue<Value: PlainValue>(_ value: Value?, forKey key: String) async throws(StoreError) {
    try await CallQueues.call(within: nil) { () throws(StoreError) in try self.setValue(value, forKey: key) }
  }
}

extension KeyValueStorage where R == Vault {
  /// The asynchronous form of ``value(of:forKey:)``.
  nonisolated(nonsending) public func value<Value: Codable & Sendable>(
    of type: Value.Type = Value.self, forKey key: String
  ) async throws(StoreError) -> Value? {
    try await CallQueues.call(within: nil, isRead: true) { () throws(StoreError) in try self.value(forKey: key) }
  }

  /// The asynchronous form of ``setValue(_:forKey:)``.
  nonisolated(nonsending) public func setValue<Value: Codable & Sendable>(_ value: Value?, forKey key: String)
    async throws(StoreError)
  {
    try await CallQueues.call(within: nil) { () throws(StoreError) in try self.setValue(value, forKey: key) }
  }
}

extension PersistentStorage {
  /// The asynchronous form of ``synchronize()``.
  nonisolated(nonsending) public func synchronize() async throws(StoreError) {
    try await CallQueues.call(within: nil) { () throws(StoreError) in try self.synchronize() }
  }
}
