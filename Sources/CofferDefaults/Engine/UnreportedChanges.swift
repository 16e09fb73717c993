internal import CofferPlatform
internal import CofferStorage

/// Kept under the state's lock, only during observation.
struct UnreportedChanges {
  struct Author {
    var cause = Record.Cause.write
    let origin: Change.Origin

    static let here = Author(origin: .thisProcess)
    /// A writer who left a new list without a record.
    static let unknown = Author(origin: .otherProcess(id: nil))
  }

  private struct Entry {
    let before: PlainForm?
    let author: Author
    let number: UInt64
  }

  /// The period of observation.
  let id: UInt64
  /// The author of the record being applied.
  var author = Author.here
  private let wake: @Sendable () -> Void
  private let moved: @Sendable () -> Void
  private var entries: [String: Entry] = [:]
  private var lastNumber: UInt64 = 0
  /// The values before the list was reread. The report finds the differences.
  private var former: [String: PlainForm]?

  /// `wake` is called, under the lock, at the first change after each ``take(now:)``, and `moved` when other files must be
  /// watched.
  init(id: UInt64, wake: @escaping @Sendable () -> Void, moved: @escaping @Sendable () -> Void) {
    self.id = id
    self.wake = wake
    self.moved = moved
  }

  func noteMove() { moved() }

  mutating func note(_ name: String, from value: PlainForm?) {
    wakeOnce()
    lastNumber += 1
    let before = entries[name].map(\.before) ?? former.map { $0[name] } ?? value
    entries[name] = Entry(before: before, author: author, number: lastNumber)
  }

  mutating func noteReading(over values: consuming [String: PlainForm]) {
    wakeOnce()
    if former == nil { former = values }
  }

  /// Oldest first: each name once, with its last author, unless it has its old value again.
  mutating func take(now values: [String: PlainForm]) -> [Change] {
    if let former { noteDifferences(former, values) }
    former = nil
    defer { entries = [:] }
    return entries.filter { $0.value.before != values[$0.key] }.sorted { $0.value.number < $1.value.number }
      .map { name, entry in Change(name, entry.author.cause.told(isThere: values[name] != nil), by: entry.author.origin) }
  }

  private mutating func noteDifferences(_ former: [String: PlainForm], _ values: [String: PlainForm]) {
    author = .unknown
    defer { author = .here }
    for (name, form) in former where values[name] != form && entries[name] == nil { note(name, from: form) }
    for name in values.keys where former[name] == nil && entries[name] == nil { note(name, from: nil) }
  }

  private func wakeOnce() {
    if entries.isEmpty, former == nil { wake() }
  }
}

extension Record.Cause {
  fileprivate func told(isThere: Bool) -> Change.Cause {
    switch self {
    case .write: isThere ? .set : .removed
    case .expiry: .expired
    case .migration: .migrated
    }
  }
}

extension EngineState {
  @inline(never)
  mutating func noteChange(of name: String) { unreported?.note(name, from: values[name]) }
}

/// Turns changes of a store's files into changes for its readers: names without the prefix, and whether a read now differs.
struct LayeredChanges: Sendable {
  let prefix: String
  let arguments: LaunchArguments
  let environment: EnvironmentLayer?
  /// The domain, then the suites in their order.
  let engines: [DefaultsEngine]

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
    guard let name = change.name.rest(after: prefix), !name.isEmpty || prefix.isEmpty, change.name != ReservedName.scrubPending
    else { return nil }
    return Change(name, isHidden(change.name, depth) ? .overridden : change.cause, by: change.origin)
  }

  private func isHidden(_ name: String, _ depth: Int) -> Bool {
    if arguments[name] != nil || environment?.value(for: name) != nil { return true }
    for engine in engines.prefix(depth) {
      // An unreadable layer hides nothing: the reader must look.
      do throws(StoreError) { if try engine.load(name) != nil { return true } } catch { return false }
    }
    return false
  }
}
