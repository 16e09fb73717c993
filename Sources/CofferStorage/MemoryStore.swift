internal import CofferMemory
public import CofferPlatform
public import FoundationEssentials
internal import Synchronization

/// A store in this process's memory, for transient values and tests. It keeps forms, so values still go through their coding.
public final class MemoryStore<R: Route>: Store {
  private struct Entry { let form: R.Form, version: UInt64 }
  private struct State {
    var entries: [EntryName<R>: Entry] = [:]
    var decided: Set<TransactionID> = []
    var lastVersion: UInt64 = 0
  }
  private let state = Mutex(State())
  private let stamp: @Sendable (R.Form?, UInt64) -> R.Stamp
  private let isExpired: @Sendable (R.Form) -> Bool

  /// The feed of changes: all are this process's.
  public let changes = ChangeFeed()

  /// Always `memory`.
  public var place: String { "memory" }

  private init(
    stamp: @escaping @Sendable (R.Form?, UInt64) -> R.Stamp, isExpired: @escaping @Sendable (R.Form) -> Bool
  ) {
    self.stamp = stamp
    self.isExpired = isExpired
  }

  /// The value of `name`; nil when absent.
  public func load(_ name: String) throws(StoreError) -> R.Form? {
    try Reentrancy.check(place)
    return try state.withLock { (state) throws(StoreError) in try live(name, state)?.form }
  }

  /// Several values from one moment.
  public func load(_ names: [String]) throws(StoreError) -> [Reading<R>] {
    try Reentrancy.check(place)
    return try state.withLock { (state) throws(StoreError) in
      var readings: [Reading<R>] = []
      for name in names {
        let entry = try live(name, state)
        readings.append(Reading(form: entry?.form, stamp: stamp(of: entry)))
      }
      return readings
    }
  }

  /// Whether `name` has a value.
  public func contains(_ name: String) throws(StoreError) -> Bool {
    try Reentrancy.check(place)
    return state.withLock { $0.entries[EntryName(name)] != nil }
  }

  /// All names with a value, ascending.
  public func names() throws(StoreError) -> [String] {
    try Reentrancy.check(place)
    return state.withLock { $0.entries.keys.map(\.text).sorted() }
  }

  /// Read, change and write in one step.
  public func update(_ name: String, _ body: (R.Form?) throws(StoreError) -> R.Form?) throws(StoreError) {
    try Reentrancy.check(place)
    try StoredName.check(name)
    try state.withLock { (state) throws(StoreError) in
      let old = try live(name, state)?.form
      var batch = Batch<R>()
      batch.writes[name] = Write(try Reentrancy.inside { () throws(StoreError) in try body(old) })
      apply(batch, &state)
    }
  }

  /// All of `batch`, or nothing.
  public func commit(_ batch: Batch<R>, decision: Decision?) throws(StoreError) {
    try Reentrancy.check(place)
    for name in batch.writes.keys { try StoredName.check(name) }
    try state.withLock { (state) throws(StoreError) in
      for (name, expected) in batch.expectations where stamp(of: state.entries[EntryName(name)]) != expected {
        throw StoreError(.conflict, "it was changed since it was read", key: name, place: place, cure: "read it again and retry")
      }
      if let decision { try decision.make(.random()) }
      apply(batch, &state)
      if let id = batch.decides { state.decided.insert(id) }
      if let id = batch.forgets { state.decided.remove(id) }
    }
  }

  /// The stamp of `name`'s value, even of an expired one.
  public func version(of name: String) throws(StoreError) -> R.Stamp {
    try Reentrancy.check(place)
    return state.withLock { stamp(of: $0.entries[EntryName(name)]) }
  }

  private func live(_ name: String, _ state: borrowing State) throws(StoreError) -> Entry? {
    guard let entry = state.entries[EntryName(name)] else { return nil }
    guard !isExpired(entry.form) else {
      throw StoreError(.expired, "the value has expired", key: name, place: place, cure: "set a new one, or remove it")
    }
    return entry
  }

  private func stamp(of entry: Entry?) -> R.Stamp { stamp(entry?.form, entry?.version ?? 0) }

  // Under the lock, to report changes in their order.
  private func apply(_ batch: Batch<R>, _ state: inout State) {
    var told: [Change] = []
    for (name, change) in batch.writes {
      let old = stamp(of: state.entries[EntryName(name)])
      state.lastVersion += 1
      state.entries[EntryName(name)] = change.form.map { Entry(form: $0, version: state.lastVersion) }
      guard changes.isObserved, stamp(of: state.entries[EntryName(name)]) != old else { continue }
      told.append(Change(name, batch.cause(of: change), by: .thisProcess))
    }
    if !told.isEmpty { changes.send(.changes(told)) }
  }
}

extension MemoryStore: LayeredStore where R == Plain {
  /// An empty plain store.
  public convenience init() { self.init(stamp: { form, _ in form }, isExpired: { _ in false }) }
}

extension MemoryStore: DecidingStore where R == Vault {
  /// An empty store for secrets: in guarded memory, never on disk. `now` judges expiry.
  public convenience init(now: @escaping @Sendable () -> Date = { Date() }) {
    self.init(
      stamp: { form, version in form == nil ? .absent : RecordVersion(withUnsafeBytes(of: version.littleEndian, Array.init)) },
      isExpired: { form in form.metadata.expires.map { $0 <= now() } ?? false })
  }

  /// The items that a logout removes, including expired ones.
  public func sessionItems() throws(StoreError) -> [String: RecordVersion] {
    try Reentrancy.check(place)
    return state.withLock { state in
      var marked: [String: RecordVersion] = [:]
      for (name, entry) in state.entries where entry.form.metadata.isSessionItem { marked[name.text] = stamp(of: entry) }
      return marked
    }
  }
}
