package import CofferPlatform

/// Keeps a Coffer call from running inside an `update` closure: it would deadlock on the store's lock, or write behind the
/// update's back. Stores call ``check(_:)`` at the start of every operation.
package enum Reentrancy {
  @inlinable
  package static func check(_ place: @autoclosure () -> String) throws(StoreError) {
    if coffer_inside_closure() { throw refusal(place()) }
  }

  package static func refusal(_ place: String) -> StoreError {
    StoreError(
      .reentrant, "a Coffer call was made inside an update closure", place: place,
      cure: "read what the closure needs before update(_:), or use transaction(_:)")
  }

  package static func inside<Result: ~Copyable, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
    coffer_set_inside_closure(true)
    defer { coffer_set_inside_closure(false) }
    return try body()
  }

  /// Refuses a call inside a `transaction(_:)` closure of the router of number `router`. A write outside that transaction
  /// would survive its failure, and repeat when it runs again.
  package static func checkTransaction(_ router: UInt64, _ place: @autoclosure () -> String) throws(StoreError) {
    guard coffer_transaction_router() == router else { return }
    throw StoreError(
      .reentrant, "a write through the router was made inside a closure of its transaction", place: place(),
      cure: "write through the closure's transaction, or after it")
  }

  /// Runs `body` marked as a transaction's closure. The mark does not cover threads that it waits for, or tasks that it
  /// starts.
  package static func insideTransaction<Result: ~Copyable, Failure: Error>(
    of router: UInt64, _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let outer = coffer_transaction_router()
    coffer_set_transaction_router(router)
    defer { coffer_set_transaction_router(outer) }
    return try body()
  }
}
