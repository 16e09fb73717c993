internal import CCofferPlatform

/// Keeps a Coffer call from running inside an `update` closure, which holds a store's lock: it would deadlock on the lock, or
/// write behind the update's back. Stores call ``check(_:)`` at the head of every operation.
package enum Reentrancy {
  /// Throws ``StoreError/Kind/reentrant`` when this thread is inside an update closure.
  @inlinable
  package static func check(_ place: @autoclosure () -> String) throws(StoreError) {
    if coffer_inside_closure() { throw refusal(place()) }
  }

  package static func refusal(_ place: String) -> StoreError {
    StoreError(
      .reentrant, "a Coffer call was made inside an update closure", place: place,
      cure: "read what the closure needs before update(_:), or use transaction(_:)")
  }

  /// Runs `body` marked as inside.
  package static func inside<Result: ~Copyable, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
    coffer_set_inside_closure(true)
    defer { coffer_set_inside_closure(false) }
    return try body()
  }
}
