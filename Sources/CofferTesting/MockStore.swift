public import CofferPlatform
public import CofferStorage
internal import Synchronization

/// A store in memory that counts its calls. A test can change its content behind the user's back.
///
/// ```swift
/// let storage = MockStore<Plain>()
/// let app = try StorageRouter(plain: storage, vault: MockStore<Vault>(), keys: keys)
/// try app.set("ada", for: keys.userID)
/// #expect(storage.sets["user_id"] == 1)
/// ```
///
/// Opening a router also reads, to find former values and readable copies of secrets: call ``resetCounts()`` before you
/// count.
///
/// Values go through their coding, and the store passes the conformance suite.
public final class MockStore<R: Route>: Store {
  private struct Entry { let form: R.Form, version: UInt64 }
  private struct State {
    var entries: [EntryName<R>: Entry] = [:]
    var lastVersion: UInt64 = 0
    var decided: Set<TransactionID> = []
  }
  private struct Counts {
    var gets: [String: Int] = [:], sets: [String: Int] = [:], removes: [String: Int] = [:]
    var inputs: [String] = []
  }
  /// A kind of call.
  public enum Call: Sendable, CaseIterable {
    /// A value is read, looked up or listed.
    case get
    /// A value is stored or removed.
    case set
  }
  /// Decides whether a call on a name fails, and how. A listing of all names has the empty name. It may read the store's
  /// counts and values.
  public typealias Failure = @Sendable (Call, String) -> StoreError?

  private let state = Mutex(State())
  private let counts = Mutex(Counts())
  private let failure = Mutex<Failure?>(nil)
  private let stamp: @Sendable (R.Form?, UInt64) -> R.Stamp

  /// The feed of changes: the writes through the store's calls, and those given to ``tell(_:)``.
  public let changes = ChangeFeed()
  /// Always `mock`.
  public var place: String { "mock" }

  private init(stamp: @escaping @Sendable (R.Form?, UInt64) -> R.Stamp) { self.stamp = stamp }

  /// The number of reads of each name.
  public var gets: [String: Int] { counts.withLock(\.gets) }
  /// The number of writes to each name.
  public var sets: [String: Int] { counts.withLock(\.sets) }
  /// The number of removals of each name, with or without a value.
  public var removes: [String: Int] { counts.withLock(\.removes) }
  /// The requested names of all calls, in order.
  public var inputs: [String] { counts.withLock(\.inputs) }

  /// The stored values. Setting them is neither counted nor reported. It has one of several vault names that are canonically
  /// equal in Unicode.
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

  /// Makes calls fail from now on if `failure` returns an error; nil stops that.
  public func fail(_ failure: Failure?) { self.failure.withLock { $0 = failure } }

  /// Reports changes that nobody made.
  public func tell(_ changes: Change...) { self.changes.send(.changes(changes)) }

  /// Forgets the counts.
  public func resetCounts() { counts.withLock { $0 = Counts() } }
}

extension MockStore: LayeredStore where R == Plain {
  /// An empty store of preferences.
  public convenience init() { self.init(stamp: { form, _ in form }) }
}

extension MockStore: DecidingStore where R == Vault {
  /// An empty store of secrets, which never expire.
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

  /// All names with a value, ascending. Not counted.
  public func names() throws(StoreError) -> [String] {
    try Reentrancy.check(place)
    if let error = refusal(.get, "") { throw error }
    return state.withLock { $0.entries.keys.map(\.text).sorted() }
  }

  /// Read, change and write in one step: one get and one set.
  public func update(_ name: String, _ body: (R.Form?) throws(StoreError) -> R.Form?) throws(StoreError) {
    try StoredName.check(name)
    try ask(.get, [name], isRead: true)
    // Asked without the lock, and thrown after the closure, where a store would fail.
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
      if let id = batch.forgets { state.decided.remove(id) }
    }
  }

  private func ask(_ call: Call, _ names: [String], isRead: Bool = false) throws(StoreError) {
    try Reentrancy.check(place)
    counts.withLock { counts in
      counts.inputs += names
      if isRead { for name in names { counts.gets[name, default: 0] += 1 } }
    }
    for name in names { if let error = refusal(call, name) { throw error } }
  }

  /// Without a lock, because it may read this store.
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
