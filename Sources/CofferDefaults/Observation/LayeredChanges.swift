internal import CofferPlatform
internal import CofferStorage

/// Turns the changes of a store's files into what they mean to a reader of that store: names without the prefix, and whether a
/// read gives something else now.
struct LayeredChanges: Sendable {
  let prefix: String
  let arguments: LaunchArguments
  let environment: EnvironmentLayer?
  /// The domain, then the suites in their order.
  let engines: [DefaultsEngine]

  /// Begins to tell `feed` what the files tell.
  func start(_ feed: ChangeFeed) throws(StoreError) -> Subscription {
    var subscriptions: [Subscription] = []
    for (depth, engine) in engines.enumerated() {
      subscriptions.append(
        try engine.observation.changes(of: engine).subscribe { [weak feed] event in
          switch event {
          case .changes(let changes):
            let meant = changes.compactMap { told($0, depth) }
            if !meant.isEmpty { feed?.send(.changes(meant)) }
          case .access: feed?.send(.access)
          case .ended: break  // An engine's feed has no end; a store's has.
          }
        })
    }
    return Subscription { [subscriptions] in for subscription in subscriptions { subscription.cancel() } }
  }

  private func told(_ change: Change, _ depth: Int) -> Change? {
    guard change.name.hasPrefix(prefix), change.name.utf8.count > prefix.utf8.count || prefix.isEmpty else { return nil }
    let name = String(change.name.dropFirst(prefix.count))
    return Change(name, isHidden(change.name, depth) ? .overridden : change.cause, by: change.origin)
  }

  private func isHidden(_ name: String, _ depth: Int) -> Bool {
    if arguments[name] != nil || environment?.value(for: name) != nil { return true }
    for engine in engines.prefix(depth) {
      // What cannot be read hides nothing: the reader shall come and see.
      do throws(StoreError) { if try engine.load(name) != nil { return true } } catch { return false }
    }
    return false
  }
}
