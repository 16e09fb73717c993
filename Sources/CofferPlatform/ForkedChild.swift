/// What a process that was forked without exec cannot do.
///
/// It shares its parent's epoll(7) descriptor, with which Dispatch waits, and has none of the threads of its queues: what is put on one
/// there is never done, and a source made there reaches the parent as an event about memory that the parent does not have.
package enum ForkedChild {
  /// Throws ``StoreError/Kind/afterFork`` in such a process.
  package static func refuse(_ what: String, place: String) throws(StoreError) {
    guard coffer_is_forked_child() else { return }
    throw StoreError(
      .afterFork, "a process forked without exec cannot \(what)", place: place,
      cure: "start it with exec or posix_spawn, or do so in the parent")
  }
}
