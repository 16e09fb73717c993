public import CofferPlatform
public import CofferStorage

// In asynchronous code the compiler takes these.
extension ThrowingPersistedValue {
  /// The asynchronous form of ``save(_:)``.
  ///
  /// - Parameters:
  ///   - value: the new value.
  ///   - limit: the longest wait; by default as long as the synchronous form waits.
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
