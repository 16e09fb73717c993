internal import CofferMemory
internal import Synchronization

/// A store in this process's memory: transient values and tests. Forms are kept as they are, so values still go through
/// their coding.
public final class MemoryStore<R: Route>: Store {
  private struct Entry { let form: R.Form, version: UInt64 }
  private struct State {
    var entries: [String: Entry] = [:]
    var decided: Set<TransactionID> = []
    var lastVersion: UInt64 = 0
  }
  private let state = Mutex(State())
  private let stamp: @Sendable (R.Form?, UInt64) -> R.Stamp

  /// Always `memory`.
  public var place: String { "memory" }

  private init(stamp: @escaping @Sendable (R.Form?, UInt64) -> R.Stamp) { self.stamp = stamp }

  /// The value of `name`; nil when absent.
  public func load(_ name: String) throws(StoreError) -> R.Form? {
    try Reentrancy.check(place)
    return state.withLock { $0.entries[name]?.form }
  }

  /// Several values from one moment.
  public func load(_ names: [String]) throws(StoreError) -> [Reading<R>] {
    try Reentrancy.check(place)
    return state.withLock { state in names.map { reading($0, state) } }
  }

  /// Whether `name` has a value.
  public func contains(_ name: String) throws(StoreError) -> Bool {
    try Reentrancy.check(place)
    return state.withLock { $0.entries[name] != nil }
  }

  /// All names with a value, ascending.
  public func names() throws(StoreError) -> [String] {
    try Reentrancy.check(place)
    return state.withLock { $0.entries.keys.sorted() }
  }

  /// Read, change and write in one step.
  public func update(_ name: String, _ body: (R.Form?) throws(StoreError) -> R.Form?) throws(StoreError) {
    try Reentrancy.check(place)
    try StoredName.check(name)
    try state.withLock { (state) throws(StoreError) in
      let old = state.entries[name]?.form
      let new = try Reentrancy.inside { () throws(StoreError) in try body(old) }
      write(Write(new), to: name, &state)
    }
  }

  /// All of `batch`, or nothing.
  public func commit(_ batch: Batch<R>, decision: Decision?) throws(StoreError) {
    try Reentrancy.check(place)
    for name in batch.writes.keys { try StoredName.check(name) }
    try state.withLock { (state) throws(StoreError) in
      for (name, stamp) in batch.expectations where reading(name, state).stamp != stamp {
        throw StoreError(.conflict, "changed since it was read", key: name, place: place, cure: "read it again and retry")
      }
      if let decision { try decision.make(.random()) }
      for (name, change) in batch.writes { write(change, to: name, &state) }
      if let id = batch.decides { state.decided.insert(id) }
    }
  }

  /// Drops the record of a decided transaction.
  public func forget(_ transaction: TransactionID) throws(StoreError) {
    state.withLock { _ = $0.decided.remove(transaction) }
  }

  private func reading(_ name: String, _ state: borrowing State) -> Reading<R> {
    let entry = state.entries[name]
    return Reading(form: entry?.form, stamp: stamp(entry?.form, entry?.version ?? 0))
  }

  private func write(_ change: Write<R.Form>, to name: String, _ state: inout State) {
    state.lastVersion += 1
    state.entries[name] = change.form.map { Entry(form: $0, version: state.lastVersion) }
  }
}

extension MemoryStore where R == Plain {
  /// An empty plain store.
  public convenience init() { self.init(stamp: { form, _ in form }) }
}

extension MemoryStore where R == Vault {
  /// An empty store for secrets: in guarded memory, never on disk.
  public convenience init() {
    self.init(stamp: { form, version in
      form == nil ? .absent : RecordVersion(withUnsafeBytes(of: version.littleEndian, Array.init))
    })
  }
}
