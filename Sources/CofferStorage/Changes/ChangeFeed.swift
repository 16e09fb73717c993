public import CofferPlatform
internal import Dispatch
internal import Synchronization

/// The changes of a store, for its subscribers.
///
/// A feed delivers its events in order, one at a time, on its own queue: never on the writing thread or under a lock. So a
/// receiver may use the store, and a slow receiver delays other receivers of the feed but no writer.
public final class ChangeFeed: Sendable {
  /// An event of a feed.
  public enum Event: Sendable, Hashable {
    /// These names changed, oldest change first, each name once. The writes were acknowledged before.
    case changes([Change])
    /// Reads may return something else, without a known change: a vault was locked or unlocked, a file became unreadable or
    /// was repaired.
    case access
    /// The store was closed or is gone. No event follows.
    case ended
  }

  /// Starts the feed's work for its first listener.
  public typealias Start = @Sendable (ChangeFeed) throws(StoreError) -> Subscription

  private struct State {
    var listeners = 0
    /// Counted listeners that the handler does not have yet. The end waits for them, because they would miss it.
    var joining = 0
    var source: Subscription?
    var queue: DispatchQueue?
    var isEnded = false
  }

  private let state = Mutex(State())
  private let handler = Handler<Event>()
  private let start: Start?
  private let observed = Atomic<Bool>(false)

  /// A feed of the events given to ``send(_:)``.
  ///
  /// - Parameter start: called for the first listener; its result is cancelled after the last. It runs under the feed's lock
  ///   and must not call the feed. It may keep the feed to call ``send(_:)`` later.
  public init(start: Start? = nil) { self.start = start }

  /// The feed of a store that reports no changes.
  public static let ended: ChangeFeed = {
    let feed = ChangeFeed()
    feed.end()
    return feed
  }()

  /// Nil before the first listener.
  var queue: DispatchQueue? { state.withLock { $0.queue } }

  /// Whether anyone listens. If not, a store need not gather changes.
  public var isObserved: Bool { observed.load(ordering: .relaxed) }

  /// Calls `receive` with each event from now on, until the subscription is cancelled or released, or after ``Event/ended``.
  /// A feed that has ended sends only ``Event/ended``.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/io(_:)`` if the system's limits on watches are reached,
  ///   ``/CofferPlatform/StoreError/Kind/afterFork`` in a process forked since the store was opened, and other errors of
  ///   starting to watch.
  public func subscribe(_ receive: @escaping @Sendable (Event) -> Void) throws(StoreError) -> Subscription {
    let isEnded = try state.withLock { (state) throws(StoreError) in
      if state.isEnded { return true }
      if state.listeners == 0, let start { state.source = try start(self) }
      try ForkedChild.refuse("tell of changes", place: "memory")
      if state.queue == nil { state.queue = DispatchQueue(label: "coffer.changes") }
      state.listeners += 1
      state.joining += 1
      observed.store(true, ordering: .relaxed)
      return false
    }
    let registration = Registration()
    guard !isEnded else {
      // Not on a global queue, whose few threads may all be busy.
      DispatchQueue(label: "coffer.changes").async { receive(.ended) }
      return Subscription {}
    }
    let cancel = handler.add(registration, receive)
    let isAwaited = state.withLock { state in
      state.joining -= 1
      return state.isEnded && state.joining == 0
    }
    if isAwaited { tellEnd() }
    // The handler holds its owners weakly. The subscription keeps this one alive.
    return Subscription { [weak self] in
      withExtendedLifetime(registration, cancel)
      self?.leave()
    }
  }

  private final class Registration: Sendable {}

  private func leave() {
    let source = state.withLock { state -> Subscription? in
      state.listeners -= 1
      guard state.listeners == 0 else { return nil }
      observed.store(false, ordering: .relaxed)
      return state.source.take()
    }
    source?.cancel()
  }

  /// Delivers `event` after all earlier ones. May be called under a store's lock, which keeps events in order.
  public func send(_ event: Event) {
    guard isObserved, let queue = state.withLock({ $0.isEnded ? nil : $0.queue }) else { return }
    queue.async { self.handler.trigger(event) }
  }

  package func afterDelivery(_ body: @escaping @Sendable () -> Void) {
    guard let queue = state.withLock({ $0.isEnded ? nil : $0.queue }) else { return body() }
    queue.async(execute: body)
  }

  /// Delivers ``Event/ended`` after all sent events. Later events and calls do nothing.
  public func end() {
    let (source, isComplete) = state.withLock { state -> (Subscription?, Bool) in
      guard !state.isEnded else { return (nil, false) }
      state.isEnded = true
      return (state.source.take(), state.joining == 0)
    }
    source?.cancel()
    if isComplete { tellEnd() }
  }

  private func tellEnd() {
    state.withLock { $0.queue }?.async {
      self.handler.trigger(.ended)
      self.handler.removeAll()
    }
  }
}

extension ChangeFeed.Event {
  package func concerns(_ name: String) -> Bool {
    switch self {
    case .changes(let changes): changes.contains { $0.name == name && $0.cause != .overridden }
    case .access: true
    case .ended: false
    }
  }
}
