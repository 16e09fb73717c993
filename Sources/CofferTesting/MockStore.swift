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
/// Opening a router reads too: it looks for what older programs left, and for readable copies of secrets. A test that counts
/// reads calls ``resetCounts()`` before what it is about.
///
/// Values go through their coding as in any store, and it passes the conformance suite.
public final class MockStore<R: Route>: Store {
  private struct Entry { let form: R.Form, version: UInt64 }
  private struct State {
    var entries: [EntryName<R>: Entry] = [:]
    var lastVersion: UInt64 = 0
    var decided: Set<TransactionID> = []
  }
  /// The calls, by name.
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
  /// Decides whether a call on a name fails, and how. A listing of all names has the empty one. It may read the store's counts
  /// and values.
  public typealias Failure = @Sendable (Call, String) -> StoreError?

  private let state = Mutex(State())
  private let counts = Mutex(Counts())
  private let failure = Mutex<Failure?>(nil)
  private let stamp: @Sendable (R.Form?, UInt64) -> R.Stamp

  /// Reported changes: the writes through the store's calls, and those given to ``tell(_:)``.
  public let changes = ChangeFeed()
  /// Always `mock`.
  public var place: String { "mock" }

  private init(stamp: @escaping @Sendable (R.Form?, UInt64) -> R.Stamp) { self.stamp = stamp }

  /// How often each name's value was read.
  public var gets: [String: Int] { counts.withLock(\.gets) }
  /// How often each name was given a value.
  public var sets: [String: Int] { counts.withLock(\.sets) }
  /// How often each name's value was removed, whether or not there was one.
  public var removes: [String: Int] { counts.withLock(\.removes) }
  /// The names that were asked for, by any call, in order.
  public var inputs: [String] { counts.withLock(\.inputs) }

  /// The stored values. Setting them counts as nothing and is not reported. Of names that are canonically equal in Unicode, which
  /// are several in a vault, it has one.
  public var values: [String: R.Form] {
    get {
      state.withLock { state in
        Dictionary(state.entries.map { ($0.key.text, $0.value.form) }, uniquingKeysWith: { first, _ in first })
      }
    }
    set {
      state.withLock { state in
        state.lastVersion += 1
        let version = state.lastVersion
        state.entries = [:]
        for (name, form) in newValue { state.entries[EntryName(name)] = Entry(form: form, version: version) }
      }
    }
  }

  /// Makes calls fail from now on where `failure` returns an error; nil ends it.
  public func fail(_ failure: Failure?) { self.failure.withLock { $0 = failure } }

  /// Tells observers of changes that nobody made.
  public func tell(_ changes: Change...) { self.changes.send(.changes(changes)) }

  /// Forgets the counts.
  public func resetCounts() { counts.withLock { $0 = Counts() } }
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
    try ask(.get, [name], isRead: true)
    return state.withLock { $0.entries[EntryName(name)]?.form }
  }

  /// Several values from one moment.
  public func load(_ names: [String]) throws(StoreError) -> [Reading<R>] {
    try ask(.get, names, isRead: true)
    return state.withLock { state in
      names.map { name in
        let entry = state.entries[EntryName(name)]
        return Reading(form: entry?.form, stamp: stamp(of: entry))
      }
    }
  }

  /// Whether `name` has a value. Counts as an input alone.
  public func contains(_ name: String) throws(StoreError) -> Bool {
    try ask(.get, [name])
    return state.withLock { $0.entries[EntryName(name)] != nil }
  }

  /// All names with a value, ascending. Counts as nothing.
  public func names() throws(StoreError) -> [String] {
    try Reentrancy.check(place)
    if let error = refusal(.get, "") { throw error }
    return state.withLock { $0.entries.keys.map(\.text).sorted() }
  }

  /// Read, change and write in one step: one get and one set.
  public func update(_ name: String, _ body: (R.Form?) throws(StoreError) -> R.Form?) throws(StoreError) {
    try StoredName.check(name)
    try ask(.get, [name], isRead: true)
    // Asked without the lock, and thrown where a store would fail: after the closure.
    let error = refusal(.set, name)
    try state.withLock { (state) throws(StoreError) in
      let old = state.entries[EntryName(name)]?.form
      var batch = Batch<R>()
      batch.writes[name] = Write(try Reentrancy.inside { () throws(StoreError) in try body(old) })
      if let error { throw error }
      apply(batch, &state)
    }
  }

  /// All of `batch`, or nothing.
  public func commit(_ batch: Batch<R>, decision: Decision?) throws(StoreError) {
    for name in batch.writes.keys { try StoredName.check(name) }
    try ask(.set, batch.writes.keys.sorted())
    try state.withLock { (state) throws(StoreError) in
      for (name, expected) in batch.expectations where stamp(of: state.entries[EntryName(name)]) != expected {
        throw StoreError(.conflict, "changed since it was read", key: name, place: place, cure: "read it again and retry")
      }
      if let decision { try decision.make(.random()) }
      apply(batch, &state)
      if let id = batch.decides { state.decided.insert(id) }
    }
  }

  /// Drops the record of a decided transaction.
  public func forget(_ transaction: TransactionID) throws(StoreError) {
    try Reentrancy.check(place)
    state.withLock { _ = $0.decided.remove(transaction) }
  }

  /// Counts a call on `names`, and fails where the test says so.
  private func ask(_ call: Call, _ names: [String], isRead: Bool = false) throws(StoreError) {
    try Reentrancy.check(place)
    counts.withLock { counts in
      counts.inputs += names
      if isRead { for name in names { counts.gets[name, default: 0] += 1 } }
    }
    for name in names { if let error = refusal(call, name) { throw error } }
  }

  /// The test's refusal of a call. No lock is held: it may read this store.
  private func refusal(_ call: Call, _ name: String) -> StoreError? { failure.withLock { $0 }?(call, name) }

  private func stamp(of entry: Entry?) -> R.Stamp { stamp(entry?.form, entry?.version ?? 0) }

  private func apply(_ batch: Batch<R>, _ state: inout State) {
    var told: [Change] = []
    counts.withLock { counts in
      for (name, write) in batch.writes {
        if write.form == nil { counts.removes[name, default: 0] += 1 } else { counts.sets[name, default: 0] += 1 }
      }
    }
    for (name, write) in batch.writes {
      let old = stamp(of: state.entries[EntryName(name)])
      state.lastVersion += 1
      state.entries[EntryName(name)] = write.form.map { Entry(form: $0, version: state.lastVersion) }
      if stamp(of: state.entries[EntryName(name)]) != old {
        told.append(Change(name, batch.cause(of: write), by: .thisProcess))
      }
    }
    if !told.isEmpty { changes.send(.changes(told)) }
  }
}
