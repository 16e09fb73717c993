public import CofferPlatform
public import CofferStorage
internal import Synchronization

/// A store in memory that counts what is asked of it, and lets a test change what is in it behind the back of whoever uses it.
///
/// ```swift
/// let storage = MockStore<Plain>()
/// let app = try StorageRouter(plain: storage, vault: MockStore<Vault>(), keys: keys)
/// try app.set("ada", for: keys.userID)
/// #expect(storage.sets["user_id"] == 1)
/// ```
///
/// Opening a router reads too: it looks for what older programs left, and for readable copies of secrets. A test that counts reads
/// calls ``resetCounts()`` before what it is about.
///
/// Values go through their coding as in any store, and it passes the conformance suite.
public final class MockStore<R: Route>: Store {
  private struct Entry { let form: R.Form, version: UInt64 }
  private struct State {
    var entries: [String: Entry] = [:]
    var lastVersion: UInt64 = 0
    var decided: Set<TransactionID> = []
    var counts = Counts()
    var failure: Failure?
  }
  /// What was asked, by name.
  private struct Counts {
    var gets: [String: Int] = [:], sets: [String: Int] = [:], removes: [String: Int] = [:]
    var inputs: [String] = []
  }
  /// Which call is being made.
  public enum Call: Sendable, CaseIterable {
    /// A value is read, looked for or listed.
    case get
    /// A value is stored or removed.
    case set
  }
  /// Decides whether a call on a name fails, and how.
  public typealias Failure = @Sendable (Call, String) -> StoreError?

  private let state = Mutex(State())
  private let stamp: @Sendable (R.Form?, UInt64) -> R.Stamp

  /// What is told: the writes that go through the store's calls, and what ``tell(_:)`` says.
  public let changes = ChangeFeed()
  /// Always `mock`.
  public var place: String { "mock" }

  private init(stamp: @escaping @Sendable (R.Form?, UInt64) -> R.Stamp) { self.stamp = stamp }

  /// How often each name's value was read.
  public var gets: [String: Int] { state.withLock(\.counts.gets) }
  /// How often each name was given a value.
  public var sets: [String: Int] { state.withLock(\.counts.sets) }
  /// How often each name's value was removed, whether or not there was one.
  public var removes: [String: Int] { state.withLock(\.counts.removes) }
  /// The names that were asked for, by any call, in order.
  public var inputs: [String] { state.withLock(\.counts.inputs) }

  /// What is stored. Setting it counts as nothing and is told to nobody.
  public var values: [String: R.Form] {
    get { state.withLock { $0.entries.mapValues(\.form) } }
    set {
      state.withLock { state in
        state.lastVersion += 1
        let version = state.lastVersion
        state.entries = newValue.mapValues { Entry(form: $0, version: version) }
      }
    }
  }

  /// Makes calls fail from now on where `failure` returns an error; nil ends it.
  public func fail(_ failure: Failure?) { state.withLock { $0.failure = failure } }

  /// Tells observers of changes that nobody made.
  public func tell(_ changes: Change...) { self.changes.send(.changes(changes)) }

  /// Forgets what was counted.
  public func resetCounts() { state.withLock { $0.counts = Counts() } }
}

extension MockStore where R == Plain {
  /// An empty store of preferences.
  public convenience init() { self.init(stamp: { form, _ in form }) }
}

extension MockStore where R == Vault {
  /// An empty store of secrets. Items never expire in it.
  public convenience init() {
    self.init(stamp: { form, version in
      form == nil ? .absent : RecordVersion(withUnsafeBytes(of: version.littleEndian, Array.init))
    })
  }
}

extension MockStore {
  /// The value of `name`.
  public func load(_ name: String) throws(StoreError) -> R.Form? {
    try asked(.get, [name]) { (state) throws(StoreError) in state.entries[name]?.form }
  }

  /// Several values from one moment.
  public func load(_ names: [String]) throws(StoreError) -> [Reading<R>] {
    try asked(.get, names) { (state) throws(StoreError) in
      names.map { name in Reading(form: state.entries[name]?.form, stamp: stamp(of: state.entries[name])) }
    }
  }

  /// Whether `name` has a value. Counts as an input alone.
  public func contains(_ name: String) throws(StoreError) -> Bool {
    try asked(nil, [name]) { (state) throws(StoreError) in state.entries[name] != nil }
  }

  /// All names with a value, ascending. Counts as nothing.
  public func names() throws(StoreError) -> [String] {
    try asked(nil, []) { (state) throws(StoreError) in state.entries.keys.sorted() }
  }

  /// Read, change and write in one step: one get and one set.
  public func update(_ name: String, _ body: (R.Form?) throws(StoreError) -> R.Form?) throws(StoreError) {
    try StoredName.check(name)
    try asked(.get, [name]) { (state) throws(StoreError) in
      let old = state.entries[name]?.form
      var batch = Batch<R>()
      batch.writes[name] = Write(try Reentrancy.inside { () throws(StoreError) in try body(old) })
      try check(.set, name, state)
      apply(batch, &state)
    }
  }

  /// All of `batch`, or nothing.
  public func commit(_ batch: Batch<R>, decision: Decision?) throws(StoreError) {
    for name in batch.writes.keys { try StoredName.check(name) }
    try asked(nil, batch.writes.keys.sorted()) { (state) throws(StoreError) in
      for name in batch.writes.keys { try check(.set, name, state) }
      for (name, expected) in batch.expectations where stamp(of: state.entries[name]) != expected {
        throw StoreError(.conflict, "changed since it was read", key: name, place: place, cure: "read it again and retry")
      }
      if let decision { try decision.make(.random()) }
      apply(batch, &state)
      if let id = batch.decides { state.decided.insert(id) }
    }
  }

  /// Drops the record of a decided transaction.
  public func forget(_ transaction: TransactionID) throws(StoreError) {
    try asked(nil, []) { (state) throws(StoreError) in _ = state.decided.remove(transaction) }
  }

  private func asked<Result>(
    _ call: Call?, _ names: [String], _ body: (inout State) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    try Reentrancy.check(place)
    return try state.withLock { (state) throws(StoreError) in
      state.counts.inputs += names
      if let call {
        for name in names {
          state.counts.gets[name, default: 0] += 1
          try check(call, name, state)
        }
      }
      return try body(&state)
    }
  }

  private func check(_ call: Call, _ name: String, _ state: borrowing State) throws(StoreError) {
    if let error = state.failure?(call, name) { throw error }
  }

  private func stamp(of entry: Entry?) -> R.Stamp { stamp(entry?.form, entry?.version ?? 0) }

  private func apply(_ batch: Batch<R>, _ state: inout State) {
    var told: [Change] = []
    for (name, write) in batch.writes {
      if write.form == nil { state.counts.removes[name, default: 0] += 1 } else { state.counts.sets[name, default: 0] += 1 }
      let old = stamp(of: state.entries[name])
      state.lastVersion += 1
      state.entries[name] = write.form.map { Entry(form: $0, version: state.lastVersion) }
      if stamp(of: state.entries[name]) != old {
        told.append(Change(name, batch.cause(of: write), by: .thisProcess))
      }
    }
    if !told.isEmpty { changes.send(.changes(told)) }
  }
}
