internal import CofferPlatform
internal import CofferStorage

/// What changed in a domain since its observers were last told. Kept under the lock of the state, and only while somebody
/// observes.
struct UnreportedChanges {
  /// Who wrote a value, and why.
  struct Author {
    var cause = Record.Cause.write
    let origin: Change.Origin

    static let here = Author(origin: .thisProcess)
    /// Someone who left a new list and no record.
    static let unknown = Author(origin: .otherProcess(id: nil))
  }

  private struct Entry {
    /// The value that observers were last told of.
    let before: PlainForm?
    let author: Author
    let number: UInt64
  }

  /// Tells one period of observation from the next.
  let id: UInt64
  /// Of the record that is being applied.
  var author = Author.here
  private let wake: @Sendable () -> Void
  private let moved: @Sendable () -> Void
  private var entries: [String: Entry] = [:]
  private var lastNumber: UInt64 = 0
  /// The values before the list was read anew: what differs from them is found when observers are told.
  private var former: [String: PlainForm]?

  /// Nothing yet. `wake` is called, under the lock, at the first change after each ``take(now:)``, and `moved` when the files are
  /// to be watched elsewhere.
  init(id: UInt64, wake: @escaping @Sendable () -> Void, moved: @escaping @Sendable () -> Void) {
    self.id = id
    self.wake = wake
    self.moved = moved
  }

  /// Notes that the list's links lead elsewhere by now.
  func noteMove() { moved() }

  /// Notes that the value of `name`, so far `value`, is about to be another.
  mutating func note(_ name: String, from value: PlainForm?) {
    wakeOnce()
    lastNumber += 1
    let before = entries[name].map(\.before) ?? former.map { $0[name] } ?? value
    entries[name] = Entry(before: before, author: author, number: lastNumber)
  }

  /// Notes that all values, so far `values`, are about to be read anew.
  mutating func noteReading(over values: consuming [String: PlainForm]) {
    wakeOnce()
    if former == nil { former = values }
  }

  /// What observers have not been told of, oldest first: each name once, with its last author; names that have the value of
  /// before again are left out.
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
  /// Notes, for those who observe, that the value of `name` is about to change.
  @inline(never)
  mutating func noteChange(of name: String) { unreported?.note(name, from: values[name]) }
}

/// Turns the changes of a store's files into changes for its readers: names without the prefix, and whether a read returns
/// something else now.
struct LayeredChanges: Sendable {
  let prefix: String
  let arguments: LaunchArguments
  let environment: EnvironmentLayer?
  /// The domain, then the suites in their order.
  let engines: [DefaultsEngine]

  /// Begins to report the changes of the files to `feed`.
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
      // What cannot be read hides nothing: the reader shall come and see.
      do throws(StoreError) { if try engine.load(name) != nil { return true } } catch { return false }
    }
    return false
  }
}
