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
  private let loop = Mutex<Task<Void, Never>?>(nil)

  /// Runs `make`'s task once.
  func start(_ make: () throws(StoreError) -> Task<Void, Never>) throws(StoreError) {
    try loop.withLock { (loop) throws(StoreError) in
      if loop == nil { loop = try make() }
    }
  }

  func end() { loop.withLock { $0?.cancel() } }
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
