package import CofferPlatform

/// The source of news of a value: a store's feed and the value's name there.
public struct ValueOrigin: Sendable {
  /// The store's feed.
  public let feed: ChangeFeed
  /// The value's name in the feed.
  public let name: String
  let seen: Look?

  /// News of `name` in `feed`.
  public init(feed: ChangeFeed, name: String) {
    self.feed = feed
    self.name = name
    seen = nil
  }

  /// The same for a value that cannot be compared or must not be kept: `seen` tells whether it changed.
  package init(feed: ChangeFeed, name: String, seen: @escaping Look) {
    self.feed = feed
    self.name = name
    self.seen = seen
  }

  package typealias Look = @Sendable () throws(StoreError) -> any Equatable & Sendable
}

extension ValueChanges {
  /// The result of `read` now, and at each news of `origins` or `pulse`.
  ///
  /// - Parameters:
  ///   - looks: tell apart values that cannot be compared.
  ///   - isSecret: whether no copy of the value may be kept to compare the next one with.
  package static func following(
    _ origins: [ValueOrigin], _ pulse: Handler<Void>?, comparing looks: [ValueOrigin], isSecret: Bool,
    _ read: @escaping @Sendable () throws(StoreError) -> Value
  ) throws(StoreError) -> ValueChanges {
    let source = ValueSource()
    for origin in origins { try source.follow(origin.feed, [origin.name]) }
    if let pulse { pulse.add(source) { [weak source] in source?.signal() } } else if origins.isEmpty { source.end() }
    let look = looks.compactMap(\.seen)
    let isComplete = look.count == looks.count
    return ValueChanges(source: source) {
      do throws(StoreError) {
        let (value, stored) = try still(isComplete ? look : [], isSecret, read)
        return Look(element: .success(value), sight: .values([SeenValue(isSecret ? nil : value, stored: stored)]))
      } catch { return Look(element: .failure(error), sight: Sight(error)) }
    }
  }

  /// A value and its stored value, read before and after.
  private static func still(
    _ looks: [ValueOrigin.Look], _ isSecret: Bool, _ read: () throws(StoreError) -> Value
  ) throws(StoreError) -> (Value, [any Equatable & Sendable]) {
    if !isSecret {
      let value = try read()
      if value is any Equatable { return (value, []) }
    }
    var stored = try looks.map { (look) throws(StoreError) in try look() }
    var rounds = 0
    while true {
      let value = try read()
      let again = try looks.map { (look) throws(StoreError) in try look() }
      rounds += 1
      // A steady writer causes more events, which reveal the difference.
      if rounds == 3 || zip(stored, again).allSatisfy({ $0.isEqual(to: $1) }) { return (value, again) }
      stored = again
    }
  }
}
