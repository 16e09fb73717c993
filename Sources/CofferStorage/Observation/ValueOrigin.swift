internal import Synchronization

/// Where news of a value come from: the feed of a store, and the name of the value there.
public struct ValueOrigin: Sendable {
  /// The store's feed.
  public let feed: ChangeFeed
  /// The name that the feed calls the value by.
  public let name: String

  /// News of `name` in `feed`.
  public init(feed: ChangeFeed, name: String) {
    self.feed = feed
    self.name = name
  }

  /// Calls `body` when a read of the value may give something else than before.
  ///
  /// - Throws: what ``ChangeFeed/subscribe(_:)`` throws.
  package func subscribe(_ body: @escaping @Sendable () -> Void) throws(StoreError) -> Subscription {
    try feed.subscribe { [name] event in if event.concerns(name) { body() } }
  }
}

extension ValueChanges {
  /// What `read` gives now, and whenever `origins` or `pulse` tell. Values of a type that can be compared are not told twice in a row.
  package static func following(
    _ origins: [ValueOrigin], _ pulse: Handler<Void>?, _ read: @escaping @Sendable () -> Element
  ) throws(StoreError) -> ValueChanges {
    let source = ValueSource()
    for origin in origins { try source.follow(origin.feed, [origin.name]) }
    if let pulse { pulse.add(source) { [weak source] in source?.signal() } } else if origins.isEmpty { source.end() }
    let last = Mutex<(element: Element?, generation: UInt64)>((nil, 0))
    return ValueChanges(source: source) {
      let element = read()
      let generation = last.withLock { last in
        if let previous = last.element, isSame(previous, element) { return last.generation }
        last = (element, last.generation + 1)
        return last.generation
      }
      var kind: StoreError.Kind?
      if case .failure(let error) = element { kind = error.kind }
      return Look(
        element: element, mark: Mark(plain: [:], vault: [:], failure: kind, failedKey: nil, generation: generation))
    }
  }

  private static func isSame(_ left: Element, _ right: Element) -> Bool {
    switch (left, right) {
    case (.success(let left), .success(let right)):
      guard let left = left as? any Equatable else { return false }
      return left.isEqual(to: right)
    case (.failure(let left), .failure(let right)): return left.kind == right.kind && left.key == right.key
    default: return false
    }
  }
}

extension Equatable {
  fileprivate func isEqual(to other: Any) -> Bool { other as? Self == self }
}
