public import CofferPlatform
public import CofferStorage

// The compiler chooses these in asynchronous code.
extension ThrowingPersistedValue {
  /// The asynchronous form of ``save(_:)``.
  ///
  /// - Parameters:
  ///   - value: the new value.
  ///   - limit: the longest wait; by default that of the synchronous form.
  /// - Throws: the errors of the synchronous form; ``/CofferPlatform/StoreError/Kind/cancelled`` if the task is cancelled
  ///   during the wait; nothing has changed then.
  nonisolated(nonsending) public func save(_ value: Value, within limit: Duration? = nil) async throws(StoreError) {
    try await CallQueues.call(within: limit) { () throws(StoreError) in try self.save(value) }
  }

  /// The asynchronous form of ``mutate(_:)``. `body` may run twice.
  /// Also throws the errors of ``save(_:within:)``.
  nonisolated(nonsending) public func mutate(
    within limit: Duration? = nil, _ body: @escaping @Sendable (inout Value) throws -> Void
  ) async throws {
    // A mutation in two steps is never repeated.
    let lock = mutatesAtomically ? nil : CallQueues.ownName(of: "a handle")
    try await CallQueues.callClosure(at: lock, within: limit) { try self.mutate(body) }
  }
}

extension ThrowingPersistedValue where Sensitivity == Vault {
  /// The asynchronous form of ``load()`` for a vault's value. Also throws the errors of ``save(_:within:)``.
  nonisolated(nonsending) public func load(within limit: Duration? = nil) async throws(StoreError) -> Value {
    try await CallQueues.call(within: limit, isRead: true) { () throws(StoreError) in try self.load() }
  }
}
