public import CofferPlatform
public import CofferStorage
internal import Synchronization

/// A store in memory with a bounded number of values. It evicts the least recently used one and reports it as removed.
public final class CacheStore<R: Route>: Store {
  private let memory: MemoryStore<R>
  /// Also the lock of every call, so that a value and its use are noted in one step. It is taken before the memory's own
  /// lock.
  private let uses = Mutex(Uses<R>())
  /// The most values kept.
  public let limit: Int

  private init(_ memory: MemoryStore<R>, limit: Int) {
    self.memory = memory
    self.limit = max(1, limit)
  }

  /// Always `memory`.
  public var place: String { memory.place }
  /// Changes, including evictions.
  public var changes: ChangeFeed { memory.changes }

  /// The value of `name`; nil when absent or evicted.
  public func load(_ name: String) throws(StoreError) -> R.Form? {
    try entering { (uses) throws(StoreError) in
      let form = try memory.load(name)
      if form != nil { uses.note(EntryName(name)) }
      return form
    }
  }

  /// Several values from one moment.
  public func load(_ names: [String]) throws(StoreError) -> [Reading<R>] {
    try entering { (uses) throws(StoreError) in
      let readings = try memory.load(names)
      for (name, reading) in zip(names, readings) where reading.form != nil { uses.note(EntryName(name)) }
      return readings
    }
  }

  /// All names with a value, ascending.
  public func names() throws(StoreError) -> [String] {
    try entering { (_) throws(StoreError) in try memory.names() }
  }

  /// Read, change and write in one step.
  public func update(_ name: String, _ body: (R.Form?) throws(StoreError) -> R.Form?) throws(StoreError) {
    try entering { (uses) throws(StoreError) in
      try memory.update(name, body)
      try evict(after: [name], &uses)
    }
  }

  /// All of `batch`, or nothing. May evict other values.
  public func commit(_ batch: Batch<R>, decision: Decision?) throws(StoreError) {
    try entering { (uses) throws(StoreError) in
      try memory.commit(batch, decision: decision)
      try evict(after: batch.writes.keys.sorted(), &uses)
    }
  }

  /// The stamp of `name`'s value, even of an expired one. Does not count as a use.
  public func version(of name: String) throws(StoreError) -> R.Stamp {
    try entering { (_) throws(StoreError) in try memory.version(of: name) }
  }

  private func entering<Result>(_ body: (inout Uses<R>) throws(StoreError) -> Result) throws(StoreError) -> Result {
    // Before the lock, which this thread holds inside an update's closure.
    try Reentrancy.check(place)
    return try uses.withLock { (uses) throws(StoreError) in try body(&uses) }
  }

  private func evict(after written: [String], _ uses: inout Uses<R>) throws(StoreError) {
    for name in written {
      if try memory.contains(name) { uses.note(EntryName(name)) } else { uses.drop(EntryName(name)) }
    }
    while let name = uses.oldest(beyond: limit) { try memory.save(nil, for: name.text) }
  }
}

extension CacheStore: LayeredStore where R == Plain {
  /// An empty store of at most `limit` preferences.
  public convenience init(limit: Int) { self.init(MemoryStore<Plain>(), limit: limit) }
}

extension CacheStore: DecidingStore where R == Vault {
  /// An empty store of at most `limit` secrets, in guarded memory.
  public convenience init(limit: Int) { self.init(MemoryStore<Vault>(), limit: limit) }

  /// The items that a logout removes, including expired ones.
  public func sessionItems() throws(StoreError) -> [String: RecordVersion] {
    try entering { (_) throws(StoreError) in try memory.sessionItems() }
  }
}

private struct Uses<R: Route> {
  private var last: [EntryName<R>: UInt64] = [:]
  /// Each use of a name; only its last counts. Shortened when it is several times longer than the number of names.
  private var queue: [(name: EntryName<R>, time: UInt64)] = []
  private var head = 0
  private var time: UInt64 = 0

  mutating func note(_ name: EntryName<R>) {
    time += 1
    last[name] = time
    queue.append((name, time))
    guard queue.count > 64 + 4 * last.count else { return }
    queue = queue[head...].filter { last[$0.name] == $0.time }
    head = 0
  }

  mutating func drop(_ name: EntryName<R>) { last[name] = nil }

  /// The least recently used name, taken out while there are more than `limit`.
  mutating func oldest(beyond limit: Int) -> EntryName<R>? {
    guard last.count > limit else { return nil }
    while head < queue.count {
      let (name, time) = queue[head]
      head += 1
      guard last[name] == time else { continue }
      last[name] = nil
      return name
    }
    return nil
  }
}
