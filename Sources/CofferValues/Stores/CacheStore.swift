public import CofferPlatform
public import CofferStorage
internal import Synchronization

/// A store in memory that keeps a bounded number of values: what was not used for longest goes first, and its going is told as a
/// removal.
public final class CacheStore<R: Route>: Store {
  private let memory: MemoryStore<R>
  private let uses = Mutex(Uses())
  /// The number of values kept, at most.
  public let limit: Int

  private init(_ memory: MemoryStore<R>, limit: Int) {
    self.memory = memory
    self.limit = max(1, limit)
  }

  /// Always `memory`.
  public var place: String { memory.place }
  /// What is told of changes, evictions too.
  public var changes: ChangeFeed { memory.changes }

  /// The value of `name`; nil when absent, or evicted.
  public func load(_ name: String) throws(StoreError) -> R.Form? {
    let form = try memory.load(name)
    if form != nil { uses.withLock { $0.note(name) } }
    return form
  }

  /// Several values from one moment.
  public func load(_ names: [String]) throws(StoreError) -> [Reading<R>] {
    let readings = try memory.load(names)
    uses.withLock { uses in for (name, reading) in zip(names, readings) where reading.form != nil { uses.note(name) } }
    return readings
  }

  /// Whether `name` has a value. This is no use of it.
  public func contains(_ name: String) throws(StoreError) -> Bool { try memory.contains(name) }

  /// All names with a value, ascending.
  public func names() throws(StoreError) -> [String] { try memory.names() }

  /// Read, change and write in one step.
  public func update(_ name: String, _ body: (R.Form?) throws(StoreError) -> R.Form?) throws(StoreError) {
    try memory.update(name, body)
    try evict(after: [name])
  }

  /// All of `batch`, or nothing. What it does not name may be evicted for it.
  public func commit(_ batch: Batch<R>, decision: Decision?) throws(StoreError) {
    try memory.commit(batch, decision: decision)
    try evict(after: batch.writes.keys.sorted())
  }

  /// The stamp of `name`'s value, of an expired one too. This is no use of it.
  public func version(of name: String) throws(StoreError) -> R.Stamp { try memory.version(of: name) }

  /// The items that a logout removes, expired ones too.
  public func sessionItems() throws(StoreError) -> [String: R.Stamp] { try memory.sessionItems() }

  /// Drops the record of a decided transaction.
  public func forget(_ transaction: TransactionID) throws(StoreError) { try memory.forget(transaction) }

  private func evict(after written: [String]) throws(StoreError) {
    for name in written {
      let isThere = try memory.contains(name)
      uses.withLock { uses in if isThere { uses.note(name) } else { uses.drop(name) } }
    }
    while let name = uses.withLock({ $0.oldest(beyond: limit) }) { try memory.save(nil, for: name) }
  }
}

extension CacheStore where R == Plain {
  /// An empty store of at most `limit` preferences.
  public convenience init(limit: Int) { self.init(MemoryStore<Plain>(), limit: limit) }
}

extension CacheStore where R == Vault {
  /// An empty store of at most `limit` secrets, in guarded memory.
  public convenience init(limit: Int) { self.init(MemoryStore<Vault>(), limit: limit) }
}

/// When names were last used.
private struct Uses {
  private var last: [String: UInt64] = [:]
  /// Each use of a name; only its last counts. Shortened once it is several times as long as the names are many.
  private var queue: [(name: String, time: UInt64)] = []
  private var head = 0
  private var time: UInt64 = 0

  mutating func note(_ name: String) {
    time += 1
    last[name] = time
    queue.append((name, time))
    guard queue.count > 64 + 4 * last.count else { return }
    queue = queue[head...].filter { last[$0.name] == $0.time }
    head = 0
  }

  mutating func drop(_ name: String) { last[name] = nil }

  /// The name that was not used for longest, taken out, while there are more than `limit`.
  mutating func oldest(beyond limit: Int) -> String? {
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
