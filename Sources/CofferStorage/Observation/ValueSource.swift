internal import Synchronization

/// Tells a loop, or a listener, that values may have changed. A signal that waits to be taken stands for all that come meanwhile.
final class ValueSource: Sendable {
  enum Signal { case news, end }

  let signals: AsyncStream<Void>
  private let continuation: AsyncStream<Void>.Continuation
  private let listener = Mutex<(@Sendable (Signal) -> Void)?>(nil)
  private let subscriptions = Mutex<[Subscription]>([])

  /// Begins with a signal, for the present values.
  init() {
    (signals, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    continuation.yield()
  }

  /// Signals what `feed` tells of `names`, and ends when it does.
  func follow(_ feed: ChangeFeed, _ names: Set<String>) throws(StoreError) {
    guard !names.isEmpty else { return }
    let subscription = try feed.subscribe { [weak self] event in
      if event == .ended { self?.end() } else if names.contains(where: event.concerns) { self?.signal() }
    }
    subscriptions.withLock { $0.append(subscription) }
  }

  /// Signals once more.
  func signal() {
    continuation.yield()
    listener.withLock { $0 }?(.news)
  }

  /// Ends the loop, after what it has been signalled.
  func end() {
    continuation.finish()
    listener.withLock { $0 }?(.end)
  }

  /// Calls `body` with each signal from now on, where it comes from; nil for no more.
  func listen(_ body: (@Sendable (Signal) -> Void)?) {
    let former = listener.withLock { listener in
      defer { listener = body }
      return listener
    }
    withExtendedLifetime(former) {}
  }
}
