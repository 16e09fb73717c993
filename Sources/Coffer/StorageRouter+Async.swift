public import CofferPlatform
public import CofferStorage

extension StorageRouter {
  /// The asynchronous form of ``synchronize()``.
  ///
  /// - Parameter limit: the longest wait for others' folds; by default as long as the synchronous form waits.
  /// - Throws: the errors of the synchronous form; ``/CofferPlatform/StoreError/Kind/cancelled`` if the task is cancelled
  ///   during the wait, and ``/CofferPlatform/StoreError/Kind/closed`` if the router is closed then: every value is stored.
  nonisolated(nonsending) public func synchronize(within limit: Duration? = nil) async throws(StoreError) {
    try await CallQueues.call(within: limit, of: id) { () throws(StoreError) in try self.synchronize() }
  }

  /// The asynchronous form of ``close()``.
  ///
  /// - Throws: the errors of the synchronous form; the store is closed even then.
  nonisolated(nonsending) public func close() async throws(StoreError) {
    endWaits()
    try await CallQueues.call(within: nil) { () throws(StoreError) in try self.close() }
  }
}
