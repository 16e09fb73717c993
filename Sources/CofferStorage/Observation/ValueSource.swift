internal import CofferPlatform
internal import Dispatch
internal import Synchronization

/// Signals that values may have changed. A pending signal stands for all later ones.
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

  /// The queue of the first feed, which delivers in order to all of its listeners.
  var queue: DispatchQueue {
    state.withLock { state in
      if let queue = state.queue { return queue }
      let new = DispatchQueue(label: "coffer.values")
      state.queue = new
      return new
    }
  }

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

  /// Calls `body` with each signal, on the signaling thread; nil stops it.
  func listen(_ body: (@Sendable (Signal) -> Void)?) {
    let former = state.withLock { state in
      defer { state.listener = body }
      return state.listener
    }
    withExtendedLifetime(former) {}
  }

  var isOver: Bool { state.withLock { $0.isOver } }
}
