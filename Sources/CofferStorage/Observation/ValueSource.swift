internal import Synchronization

/// Tells a loop that values may have changed. A signal that waits to be taken stands for all that come meanwhile.
final class ValueSource: Sendable {
  let signals: AsyncStream<Void>
  private let continuation: AsyncStream<Void>.Continuation
  private let subscriptions = Mutex<[Subscription]>([])

  /// Begins with a signal, for the present values.
  init() {
    (signals, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    continuation.yield()
  }

  /// Signals what `feed` tells of `names`, and ends when it does.
  func follow(_ feed: ChangeFeed, _ names: Set<String>) throws(StoreError) {
    guard !names.isEmpty else { return }
    let subscription = try feed.subscribe { [continuation] event in
      if event == .ended { return continuation.finish() }
      if names.contains(where: event.concerns) { continuation.yield() }
    }
    subscriptions.withLock { $0.append(subscription) }
  }

  /// Signals once more.
  func signal() { continuation.yield() }

  /// Ends the loop, after what it has been signalled.
  func end() { continuation.finish() }
}
