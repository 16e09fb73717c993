package import Dispatch
internal import Synchronization

extension ValueChanges {
  /// Calls `receive` on `queue`, which must be serial, with what a loop would get, and with nil at the end, until the subscription
  /// is cancelled or released.
  ///
  /// Takes no part in Swift's task pool, whose few threads may all be busy.
  package func deliver(on queue: DispatchQueue, _ receive: @escaping @Sendable (Element?) -> Void) -> Subscription {
    let last = Mutex<Mark?>(nil)
    let isScheduled = Atomic<Bool>(false)
    let look = look
    let attend: @Sendable (ValueSource.Signal) -> Void = { signal in
      guard signal == .news else { return queue.async { receive(nil) } }
      guard !isScheduled.exchange(true, ordering: .acquiringAndReleasing) else { return }
      queue.async {
        isScheduled.store(false, ordering: .sequentiallyConsistent)
        let found = look()
        if found.mark.failure == .closed { return receive(nil) }
        let isNews = last.withLock { last in
          defer { last = found.mark }
          return last != found.mark
        }
        if isNews { receive(found.element) }
      }
    }
    source.listen(attend)
    attend(.news)
    return Subscription { [source] in source.listen(nil) }
  }
}
