internal import CofferPlatform
internal import CofferStorage
internal import Synchronization
internal import SystemPackage

/// One property list and its journal, shared by all stores of this process that have it open.
///
/// Locks, always in this order: the right to fold (see ``folding(_:)``), `writing` (this process's threads), the journal's
/// file lock (the processes), `state` (the memory; held for microseconds). Readers take only the last.
final class DefaultsEngine: Sendable {
  /// The opened path. Its links may later lead elsewhere.
  let origin: FilePath
  /// The origin's target at the last look. Changes only under ``writing``.
  let location: Mutex<ListFiles>
  let calls: SystemCalls
  let state = BiasedLock(EngineState())
  let writing = TimedLock(WriterState())
  let options: Mutex<EngineOptions>
  let writer: Record.Writer
  let idle = IdleFold()
  let observation = EngineObservation()
  let isReadOnly: Bool
  let deciding = Deciding()
  /// The number of the thread with the right to fold, or zero.
  let foldingThread = Atomic<UInt64>(0)
  private let process = ProcessMark.current
  private static let instances = Atomic<UInt32>(0)
  static var lastInstance: UInt32 { instances.load(ordering: .relaxed) }

  struct WriterState {
    var journal: Journal?
    var nextLinkCheck: UInt64 = 0
    /// Kept until it is compared with the current files.
    var known: Relocation.Knowledge?
    /// Kept until a call has thrown them.
    var missing: Set<String> = []
  }

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
    let journal = try Journal.open(of: files, forWriting: isForWriting, calls: calls, until: deadline)
    try writing.withLock(busy: { busy }) { (writer, _) throws(StoreError) in writer.journal = journal }
    state.withLock { $0.journal = journal }
    try readForTheFirstTime(until: deadline)
  }

  /// Also repairs a damaged list if the policy allows it, and completes the work of dead processes without waiting for others
  /// that do so.
  private func readForTheFirstTime(until deadline: LockDeadline) throws(StoreError) {
    guard isWritable else { return try read() }
    do throws(StoreError) { try holdingLock(until: deadline) { (_) throws(StoreError) in try read() } } catch {
      guard try ListRepair(engine: self).heal(after: error) else { throw error }
      try holdingLock(until: deadline) { (_) throws(StoreError) in try read() }
    }
    try Fold(engine: self).tidyUp()
  }

  private func read() throws(StoreError) {
    try state.withLock { (state) throws(StoreError) in
      guard let journal = state.journal else { return state.begin(with: try ListContent.readPatiently(files.list, calls)) }
      try Replay(engine: self).catchUp(&state, journal)
      state.nextLook = CoarseClock.now() + CoarseClock.lookInterval
    }
  }

  /// Ignores options at their defaults.
  func adopt(_ new: EngineOptions) {
    options.withLock { options in
      if new.damage != .fail { options.damage = new.damage }
      if let decisions = new.decisions { options.decisions = decisions }
    }
  }

  /// Keeps the first lookup.
  func settle(with decisions: DecisionLookup) {
    let isFirst = options.withLock { options in
      defer { options.decisions = options.decisions ?? decisions }
      return options.decisions == nil
    }
    guard isFirst, state.withLock({ $0.batches.askAgain() }) else { return }
    // The call that needs the outcome throws.
    Waiting.optionally { do throws(StoreError) { try PreparedBatches(engine: self).settleAbandoned() } catch {} }
  }

  var files: ListFiles { location.withLock { $0 } }

  @inline(__always)
  var isOfThisProcess: Bool { ProcessMark.current == process }

  /// A forked child shares its parent's open files, and so the parent's lock: it would exclude nobody.
  @inline(__always)
  func checkProcess() throws(StoreError) {
    guard !isOfThisProcess else { return }
    throw StoreError(
      .afterFork, "the store was opened before this process was forked", place: files.list.string,
      cure: "open it again in the child")
  }

  // MARK: What is known

  /// Also looks for changes by other programs at intervals.
  ///
  /// - Parameters:
  ///   - following: whether to check for a new journal too. After `.moved` the caller opens that one.
  ///   - forWrite: see ``ForeignChanges/look(_:_:following:forWrite:)``.
  @inline(__always)
  func refresh(_ state: inout EngineState, following: Bool = true, forWrite: Bool = false) throws(StoreError) {
    let now = CoarseClock.now()
    if now >= state.nextLook {
      try ForeignChanges(engine: self).look(&state, now, following: following, forWrite: forWrite)
    }
    guard let journal = state.journal, try journal.word() != state.seen else { return }
    try Replay(engine: self).catchUp(&state, journal)
    // The journal was given up with that word; later records are in another one.
    if state.nextLook == 0 {
      try ForeignChanges(engine: self).look(&state, now, following: following, forWrite: forWrite)
    }
  }

  @inline(__always)
  func isCurrent(_ state: borrowing EngineState) throws(StoreError) -> Bool {
    guard CoarseClock.now() < state.nextLook else { return false }
    guard let journal = state.journal else { return true }
    return try journal.word() == state.seen
  }

  // MARK: Reading

  @inline(__always)
  func load(_ name: String) throws(StoreError) -> PlainForm? {
    let (form, isUndecided) = try reading { (state) in
      (state.values[name], state.batches.isUndecided(name))
    }
    return isUndecided ? try loadUndecided([name])[0] : form
  }

  func load(_ names: [String]) throws(StoreError) -> [PlainForm?] {
    let (forms, isUndecided) = try reading { (state) in
      (names.map { state.values[$0] }, names.contains { state.batches.isUndecided($0) })
    }
    return isUndecided ? try loadUndecided(names) : forms
  }

  func names() throws(StoreError) -> [String] { try reading { Array($0.values.keys) } }

  func contents() throws(StoreError) -> [String: PlainForm] {
    let (values, undecided) = try reading { ($0.values, $0.batches.undecidedNames) }
    guard !undecided.isEmpty else { return values }
    _ = try loadUndecided(undecided)
    return try reading { $0.values }
  }

  /// Repairs a list that was damaged meanwhile, if the policy allows it.
  @inline(__always)
  private func reading<Result>(_ body: (borrowing EngineState) -> Result) throws(StoreError) -> Result {
    do { return try fresh(body) } catch {
      guard try ListRepair(engine: self).heal(after: error) else { throw error }
      return try fresh(body)
    }
  }

  @inline(__always)
  func fresh<Result>(_ body: (borrowing EngineState) -> Result) throws(StoreError) -> Result {
    let early = try state.withoutLock { (state) throws(StoreError) in try isCurrent(state) ? body(state) : nil }
    if let early { return early }
    try bringUpToDate()
    return state.withReadLock { state in body(state) }
  }

  /// Out of line and without the body: otherwise each read would retain all its captures.
  @inline(never)
  private func bringUpToDate() throws(StoreError) {
    do throws(StoreError) {
      return try state.withReadLock { (state) throws(StoreError) in try refresh(&state) }
    } catch {
      guard error.kind == .moved else { throw error }
    }
    try Relocation(engine: self).follow()
    try state.withLock { (state) throws(StoreError) in
      // While no process could follow, the old knowledge stays valid.
      if let journal = state.journal, journal.isOver.load(ordering: .relaxed) {
        if try journal.isItself, try journal.memory.isRetired() { state.nextLook = 0 }
      } else {
        do throws(StoreError) { try refresh(&state, following: false) } catch { guard error.kind == .moved else { throw error } }
      }
    }
  }

  /// If the process that prepared the batch still holds the lock, the old values count. If not, it died, and the outcome must
  /// be learned.
  private func loadUndecided(_ names: [String]) throws(StoreError) -> [PlainForm?] {
    try PreparedBatches(engine: self).settleAbandoned()
    _ = try fresh { _ in }
    return try state.withLock { (state) throws(StoreError) in
      for name in names { try state.batches.checkDecided(name, files.list) }
      return names.map { state.values[$0] }
    }
  }
}
