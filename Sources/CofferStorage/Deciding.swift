package import CofferPlatform
package import Synchronization

/// Marks the thread that asks another store for a decision while it holds a domain's locks. Its own writes here would
/// deadlock, so they are refused.
package struct Deciding: ~Copyable {
  /// The thread's number; zero if there is none.
  @usableFromInline let thread = Atomic<UInt32>(0)

  package init() {}

  package func make(_ decision: Decision, _ id: TransactionID?) throws(StoreError) {
    try marked { () throws(StoreError) in try decision.make(id) }
  }

  /// Runs `body`, which makes a decision, with this thread marked.
  package func marked(_ body: () throws(StoreError) -> Void) throws(StoreError) {
    thread.store(coffer_thread_number(), ordering: .relaxed)
    defer { thread.store(0, ordering: .relaxed) }
    try body()
  }

  /// Throws ``/CofferPlatform/StoreError`` `.reentrant` on that thread.
  @inlinable
  package func check(_ place: @autoclosure () -> String) throws(StoreError) {
    let thread = thread.load(ordering: .relaxed)
    guard thread != 0, thread == coffer_thread_number() else { return }
    throw StoreError(
      .reentrant, "the domain was written while a decision about it was being made", place: place(),
      cure: "write before or after the transaction, or make the write a part of it")
  }
}
