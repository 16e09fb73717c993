internal import Synchronization

/// The closures that observe keys: a handler for each key, and one subscription that feeds it while it has owners.
final class KeyObservers: Sendable {
  /// Two stores may have a name each.
  struct Place: Hashable {
    let route: ObjectIdentifier
    let name: String
  }

  private struct Observed {
    let handler: Handler<Void>
    let subscription: Subscription
  }

  private let observed = Mutex<[Place: Observed]>([:])

  /// Calls `body` when `feed` tells that reads of `name` may give something else.
  func add(
    _ owner: any AnyObject & Sendable, to place: Place, of feed: ChangeFeed, _ body: @escaping @Sendable () -> Void
  ) throws(StoreError) -> Handler<Void>.Canceller {
    while true {
      let handler = try handler(at: place, of: feed)
      let cancel = handler.add(owner, body)
      // The last owner of before may have gone in between, and the subscription with it.
      guard observed.withLock({ $0[place]?.handler === handler }) else { continue }
      return { [weak self, weak handler] in
        cancel()
        if let self, let handler { dropIfIdle(place, handler) }
      }
    }
  }

  /// Ends all of them.
  func removeAll() {
    let all = observed.withLock { observed in
      defer { observed = [:] }
      return observed
    }
    for (_, entry) in all {
      entry.subscription.cancel()
      entry.handler.removeAll()
    }
  }

  private func handler(at place: Place, of feed: ChangeFeed) throws(StoreError) -> Handler<Void> {
    try observed.withLock { (observed) throws(StoreError) in
      if let entry = observed[place] { return entry.handler }
      let handler = Handler<Void>()
      let subscription = try feed.subscribe { [weak self] event in
        if event.concerns(place.name) { handler.trigger() }
        self?.dropIfIdle(place, handler)
      }
      observed[place] = Observed(handler: handler, subscription: subscription)
      return handler
    }
  }

  private func dropIfIdle(_ place: Place, _ handler: Handler<Void>) {
    let idle = observed.withLock { observed -> Observed? in
      guard observed[place]?.handler === handler, handler.count == 0 else { return nil }
      return observed.removeValue(forKey: place)
    }
    idle?.subscription.cancel()
  }
}

extension ChangeFeed.Event {
  /// Whether a read of `name` may give something else than before.
  func concerns(_ name: String) -> Bool {
    switch self {
    case .changes(let changes): changes.contains { $0.name == name && $0.cause != .overridden }
    case .access: true
    case .ended: false
    }
  }
}
