package import CofferPlatform
package import Synchronization

/// Marks the thread that asks another store for a decision while it holds a domain's locks. Its own writes here are refused,
/// because they would deadlock.
package struct Deciding: ~Copyable {
  /// Zero if there is none.
  @usableFromInline let thread = Atomic<UInt32>(0)

  package init() {}

  package func make(_ decision: Decision, _ id: TransactionID?) throws(StoreError) {
    try marked { () throws(StoreError) in try decision.make(id) }
  }

  package func marked(_ body: () throws(StoreError) -> Void) throws(StoreError) {
    thread.store(coffer_thread_number(), ordering: .relaxed)
    defer { thread.store(0, ordering: .relaxed) }
    try body()
  }

  @inlinable
  package func check(_ place: @autoclosure () -> String) throws(StoreError) {
    let thread = thread.load(ordering: .relaxed)
    guard thread != 0, thread == coffer_thread_number() else { return }
    throw StoreError(
      .reentrant, "the domain was written while it was being decided", place: place(),
      cure: "write before or after the transaction, or make the write a part of it")
  }
}
