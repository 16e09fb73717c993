internal import CofferPlatform
internal import Dispatch
internal import Synchronization

/// Tells a loop, or a listener, that values may have changed. A signal that waits to be taken stands for all that come meanwhile.
final class ValueSource: Sendable {
  enum Signal { case news, end }

  private struct State {
    var listener: (@Sendable (Signal) -> Void)?
    var subscriptions: [Subscription] = []
    var queue: DispatchQueue?
    var isOver = false
  }

  let signals: AsyncStream<Void>
  private let continuation: AsyncStream<Void>.Continuation
  private let state = Mutex(State())

  /// Begins with a signal, for the present values.
  init() {
    (signals, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    continuation.yield()
  }

  /// The queue for deliveries: that of the first feed, which delivers in order to all of its listeners.
  var queue: DispatchQueue {
    state.withLock { state in
      if let queue = state.queue { return queue }
      let new = DispatchQueue(label: "coffer.values")
      state.queue = new
      return new
    }
  }

  /// Signals what `feed` tells of `names`, and ends when it does.
  func follow(_ feed: ChangeFeed, _ names: Set<String>) throws(StoreError) {
    guard !names.isEmpty else { return }
    let subscription = try feed.subscribe { [weak self] event in
      if event == .ended { self?.end() } else if names.contains(where: event.concerns) { self?.signal() }
    }
    state.withLock { state in
      state.subscriptions.append(subscription)
      if state.queue == nil { state.queue = feed.queue }
    }
  }

  /// Signals once more.
  func signal() {
    continuation.yield()
    state.withLock { $0.listener }?(.news)
  }

  /// Ends the loop, after its pending signals.
  func end() {
    continuation.finish()
    let listener = state.withLock { state in
      state.isOver = true
      return state.listener
    }
    listener?(.end)
  }

  /// Calls `body` with each signal from now on, where it comes from; nil for no more.
  func listen(_ body: (@Sendable (Signal) -> Void)?) {
    let former = state.withLock { state in
      defer { state.listener = body }
      return state.listener
    }
    withExtendedLifetime(former) {}
  }

  /// Whether the source has ended, and nothing will be signalled.
  var isOver: Bool { state.withLock { $0.isOver } }
}
