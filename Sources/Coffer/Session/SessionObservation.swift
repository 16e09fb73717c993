internal import CofferStorage
internal import Dispatch
internal import FoundationEssentials
internal import Synchronization

/// What a session needs while it is observed. States are delivered on one queue, one after the other, with no lock held.
final class SessionObservation<User: Sendable>: Sendable {
  typealias Element = Result<SessionState<User>, StoreError>

  let handler = Handler<Element>()
  let ended = Handler<Void>()
  let queue = DispatchQueue(label: "coffer.session")
  /// What was delivered last.
  let last = Mutex<Element?>(nil)
  /// Counts deliveries, so that an alarm set before one knows itself outdated.
  let deliveries = Atomic<UInt64>(0)
  private let watch = Mutex<Subscription?>(nil)

  /// Begins to watch, once.
  func start(_ begin: () throws(StoreError) -> Subscription) throws(StoreError) {
    try watch.withLock { (watch) throws(StoreError) in
      if watch == nil { watch = try begin() }
    }
  }

  func end() {
    let watch = watch.withLock { $0 }
    watch?.cancel()
    queue.async { self.ended.trigger() }
  }
}

/// One observer's registration.
final class SessionObserver: Sendable {
  private let hasBegun = Atomic<Bool>(false)
  private let isOver = Atomic<Bool>(false)

  /// True the first time.
  func begin() -> Bool { !hasBegun.exchange(true, ordering: .relaxed) }
  func end() { isOver.store(true, ordering: .relaxed) }
  var isActive: Bool { !isOver.load(ordering: .relaxed) }
}
