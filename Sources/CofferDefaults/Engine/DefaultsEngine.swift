internal import CofferPlatform
internal import CofferStorage
internal import FoundationEssentials
internal import Synchronization
internal import SystemPackage

/// One property list and its journal, as this process sees them: shared by all stores of the process that have it open.
///
/// Three locks, always in this order: `writing` (the threads of this process that write), the sidecar's file lock (the
/// processes), `state` (what is in memory; held for microseconds). Readers take only the last.
final class DefaultsEngine: Sendable {
  /// Where the list was opened, links and all: they may lead elsewhere one day.
  let origin: FilePath
  /// Where it led when last looked. Changes under ``writing`` alone.
  let location: Mutex<ListFiles>
  let calls: SystemCalls
  let state = BiasedLock(EngineState())
  let writing = TimedLock(WriterState())
  /// What openers brought along: see ``EngineOptions``.
  let options: Mutex<EngineOptions>
  let writer: Record.Writer
  let idle = IdleFold()
  /// Opened for reading alone: leaves no trace.
  let isReadOnly: Bool
  let observation = EngineObservation()
  /// The thread that is asking another store for a decision, by its number; zero while there is none.
  let decider = Atomic<UInt32>(0)
  private let process = ProcessMark.current
  private static let instances = Atomic<UInt32>(0)
  /// The highest number that an engine of this process has.
  static var lastInstance: UInt32 { instances.load(ordering: .relaxed) }

  /// What only writers use.
  struct WriterState {
    var sidecar: Sidecar?
    var nextLinkCheck: UInt64 = 0
  }

  /// Opens the list that `origin` leads to, and the journal, waiting for their lock until `deadline`.
  init(
    _ files: ListFiles, from origin: FilePath, _ options: EngineOptions, until deadline: LockDeadline
  ) throws(StoreError) {
    self.origin = origin
    location = Mutex(files)
    calls = options.calls
    self.options = Mutex(options)
    writer = Record.Writer(
      process: UInt32(bitPattern: getpid()), instance: Self.instances.add(1, ordering: .relaxed).newValue)
    isReadOnly = options.access == .readOnly
    let isForWriting = try isReadOnly ? false : files.isWritable()
    let sidecar = try Sidecar.open(at: files.journal, forWriting: isForWriting, calls: calls, until: deadline)
    try writing.withLock { (writer) throws(StoreError) in writer.sidecar = sidecar }
    state.withLock { $0.sidecar = sidecar }
    try readForTheFirstTime(until: deadline)
  }

  /// The files, wherever they are by now.
  var files: ListFiles { location.withLock { $0 } }

  /// A forked child shares its parent's open files, and with them the parent's lock: it would exclude nobody.
  @inline(__always)
  func checkProcess() throws(StoreError) {
    guard ProcessMark.current != process else { return }
    throw StoreError(
      .closed, "the store was opened before this process was forked", place: files.list.string,
      cure: "open it again in the child")
  }

  // MARK: Reading

  /// The value of `name` in the domain.
  @inline(__always)
  func load(_ name: String) throws(StoreError) -> PlainForm? {
    let (form, isUndecided) = try reading { (state) in
      (state.values[name], !state.undecided.isEmpty && state.undecided[name] != nil)
    }
    return isUndecided ? try loadUndecided([name])[0] : form
  }

  /// The values of `names` at one moment.
  func load(_ names: [String]) throws(StoreError) -> [PlainForm?] {
    let (forms, isUndecided) = try reading { (state) in
      (names.map { state.values[$0] }, !state.undecided.isEmpty && names.contains { state.undecided[$0] != nil })
    }
    return isUndecided ? try loadUndecided(names) : forms
  }

  /// All names with a value.
  func names() throws(StoreError) -> [String] { try reading { Array($0.values.keys) } }

  /// All values at one moment.
  func contents() throws(StoreError) -> [String: PlainForm] {
    let (values, undecided) = try reading { ($0.values, Array($0.undecided.keys)) }
    guard !undecided.isEmpty else { return values }
    _ = try loadUndecided(undecided)
    return try reading { $0.values }
  }

  /// Runs `body` on the state as it is now. A list that has been damaged meanwhile is put in order where the policy says so.
  @inline(__always)
  private func reading<Result>(_ body: (borrowing EngineState) -> Result) throws(StoreError) -> Result {
    do { return try fresh(body) } catch {
      guard try heal(after: error) else { throw error }
      return try fresh(body)
    }
  }

  @inline(__always)
  private func fresh<Result>(_ body: (borrowing EngineState) -> Result) throws(StoreError) -> Result {
    let early = try state.withoutLock { (state) throws(StoreError) in try isCurrent(state) ? body(state) : nil }
    if let early { return early }
    return try state.withReadLock { (state) throws(StoreError) in
      try refresh(&state)
      return body(state)
    }
  }

  /// The names belong to a batch that another process prepared. If it still holds the lock it is at work, and the values are
  /// the old ones; if not, it died, and the outcome must be learnt.
  private func loadUndecided(_ names: [String]) throws(StoreError) -> [PlainForm?] {
    try settleAbandoned()
    return try state.withLock { (state) throws(StoreError) in
      try refresh(&state)
      for name in names { try state.checkDecided(name, files.list) }
      return names.map { state.values[$0] }
    }
  }
}

extension EngineState {
  /// Throws when the value of `name` depends on an outcome that could not be learnt.
  func checkDecided(_ name: String, _ place: FilePath) throws(StoreError) {
    guard let id = undecided[name], let cause = unresolvable[id] else { return }
    throw StoreError(
      .pending(id), "part of transaction \(id), whose outcome cannot be learnt", key: name, place: place.string,
      cure: "make the other store of that transaction readable, and open the domain with it", underlying: cause)
  }
}
