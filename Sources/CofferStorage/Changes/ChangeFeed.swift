public import CofferPlatform
internal import Dispatch
internal import Synchronization

/// The changes of a store, for its subscribers.
///
/// All events of a feed are delivered on a queue of its own, one after the other, in the order in which they happened; never on
/// the writing thread, and with no lock held. So a receiver may use the store, and a slow one delays other receivers of the same
/// feed and no writer.
public final class ChangeFeed: Sendable {
  /// An event of a feed.
  public enum Event: Sendable, Hashable {
    /// These names changed, oldest change first, each name once. Values were acknowledged before.
    case changes([Change])
    /// No value is known to have changed, but reads may give something else than before: a vault was locked or unlocked, a file
    /// became unreadable or was repaired.
    case access
    /// The store was closed or is gone. Nothing comes after it.
    case ended
  }

  /// The work of a feed while it has listeners.
  public typealias Start = @Sendable (ChangeFeed) throws(StoreError) -> Subscription

  private struct State {
    var listeners = 0
    /// Listeners that are counted and not with the handler yet. The end waits for them: they would never hear of it.
    var joining = 0
    var source: Subscription?
    var queue: DispatchQueue?
    var isEnded = false
  }

  private let state = Mutex(State())
  private let handler = Handler<Event>()
  private let start: Start?
  private let observed = Atomic<Bool>(false)

  /// A feed of the events that it is sent.
  ///
  /// - Parameter start: called for the first listener; its result is cancelled after the last. It runs under the feed's lock and
  ///   must not call the feed, whose ``send(_:)`` is for later.
  public init(start: Start? = nil) { self.start = start }

  /// The feed of a store that tells of no changes.
  public static let ended: ChangeFeed = {
    let feed = ChangeFeed()
    feed.end()
    return feed
  }()

  /// Where events are delivered; nil until the first listener came.
  var queue: DispatchQueue? { state.withLock { $0.queue } }

  /// Whether somebody listens: a store need not gather changes that nobody hears of.
  public var isObserved: Bool { observed.load(ordering: .relaxed) }

  /// Calls `receive` with each event from now on, until the subscription is cancelled or released, or after
  /// ``Event/ended``. On a feed that has ended that is all it is called with.
  ///
  /// - Throws: what starting to watch throws: ``/CofferPlatform/StoreError/Kind/io(_:)`` where the system's limits on watches are
  ///   reached, ``/CofferPlatform/StoreError/Kind/afterFork`` in a process forked since the store was opened.
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
    // The handler holds its owners weakly, so the subscription is what keeps this one.
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

  /// Delivers `event` after all that were sent before. May be called under a store's lock, which is what keeps events in order.
  public func send(_ event: Event) {
    guard isObserved, let queue = state.withLock({ $0.isEnded ? nil : $0.queue }) else { return }
    queue.async { self.handler.trigger(event) }
  }

  /// Runs `body` once everything that was sent is delivered.
  package func afterDelivery(_ body: @escaping @Sendable () -> Void) {
    guard let queue = state.withLock({ $0.isEnded ? nil : $0.queue }) else { return body() }
    queue.async(execute: body)
  }

  /// Delivers ``Event/ended`` after all that was sent, and nothing from then on. The second time does nothing.
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
  /// Whether a read of `name` may give something else than before.
  package func concerns(_ name: String) -> Bool {
    switch self {
    case .changes(let changes): changes.contains { $0.name == name && $0.cause != .overridden }
    case .access: true
    case .ended: false
    }
  }
}
