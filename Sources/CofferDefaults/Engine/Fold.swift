internal import CofferPlatform
internal import CofferStorage
internal import Dispatch
internal import FoundationEssentials
internal import Synchronization
internal import SystemPackage

/// Writes the journal's changes into the property list, where Foundation and editors see them.
struct Fold {
  let engine: DefaultsEngine

  /// The list then holds all acknowledged values, durably. A removed domain has nothing to fold, and no file is made.
  ///
  /// - Parameters:
  ///   - scrubbing: also overwrites the older content of the journal and the last good copy. Every fold that finds the mark
  ///     ``/CofferStorage/ReservedName/scrubPending`` does so, because the process that set it may have died.
  ///   - telling: see ``DefaultsEngine/holdingLock(until:checkingName:keepingRemoved:telling:_:)``.
  /// - Throws: ``/CofferPlatform/StoreError`` `.noSpace`, `.io`, `.busy` and others that leave every value stored;
  ///   `.damaged`, `.readOnly`, `.closed`, `.moved`.
  func synchronize(scrubbing: Bool = false, telling: Bool = true) throws(StoreError) {
    do {
      try engine.holdingLock(checkingName: true, keepingRemoved: true, telling: telling) { (journal) throws(StoreError) in
        if try journal.memory.use != .removed { try run(journal, scrubbing: scrubbing) }
      }
    } catch {
      throw unfolded(error)
    }
  }

  /// A failed fold loses no value, so an error of the system or the lock must not claim that nothing was changed.
  private func unfolded(_ error: StoreError) -> StoreError {
    guard error.underlying is Errno || error.kind == .busy else { return error }
    return StoreError(
      error.kind, "every value is stored, but not yet in the property list: " + error.what, place: error.place,
      cure: "correct that: the next write updates the list; every Coffer process reads the new values already",
      underlying: error.underlying)
  }

  /// A failure loses no acknowledged value: the journal keeps growing, and ``synchronize(scrubbing:)``, or a write to a full
  /// journal, reports the obstacle.
  func quietly(_ journal: Journal) {
    do { try run(journal) } catch {
      engine.state.withLock { $0.foldAt = $0.spentBytes + JournalLayout.foldAt }
    }
  }

  private struct Plan {
    let values: [String: PlainForm]
    let encoding: PropertyList.Encoding
    let list: ListFingerprint
    /// Nil if somebody else changed the list since the last fold.
    let pureWord: JournalWord?
  }

  func run(_ journal: Journal, scrubbing: Bool = false) throws(StoreError) {
    let begin = CoarseClock.now()
    for _ in 0..<Self.attempts {
      guard let plan = try plan(journal, evenIfEmpty: scrubbing) else { return try tidy(journal) }
      guard let list = try write(plan, journal) else { continue }  // Another program rewrote the list meanwhile.
      // These batches' records are the last to name them.
      PreparedBatches(engine: engine).forgetFinished()
      try empty(journal, plan, list)
      try tidy(journal)
      try journal.memory.store(CoarseClock.now() - begin, .foldTime)
      let isPending = plan.values[ReservedName.scrubPending] != nil
      guard scrubbing || isPending else { return }
      try journal.scrub(outside: journal.word())
      guard isPending else { return }
      try engine.state.withLock { (state) throws(StoreError) in
        try engine.append(.write([(ReservedName.scrubPending, nil)]), &state, journal)
      }
      // Removes the mark from the list too.
      return try run(journal)
    }
    throw StoreError(
      .busy, "another program keeps rewriting the property list", place: engine.files.list.string,
      cure: "end that program and try again; every value is safe in the journal")
  }

  /// The next fold meets a failure again, and `doctor` reports readable remains.
  func finishScrubbing(_ journal: Journal) {
    if engine.state.withLock({ $0.values[ReservedName.scrubPending] != nil }) { quietly(journal) }
  }

  private static var attempts: Int { 8 }

  /// Limits the committed batches that folds keep because the deciding store could not be written, to about 10 KiB of the
  /// journal.
  private static var mostFinished: Int { 64 }

  /// A longer fold, such as in a stopped process, is paced like one of five seconds.
  private static let longestPaced: UInt64 = 5_000_000_000

  /// In nanoseconds, of the last fold by any process.
  var last: (age: UInt64, duration: UInt64) {
    engine.state.withLock { state in
      let age = CoarseClock.age(of: Int64(bitPattern: state.list.modified)) ?? .max  // Of no date, or of one to come.
      let duration: UInt64
      do { duration = try state.journal?.memory.load(.foldTime) ?? 0 } catch { duration = 0 }  // Only paces the next one.
      return (UInt64(age), min(duration, Self.longestPaced))
    }
  }

  private func plan(_ journal: Journal, evenIfEmpty: Bool) throws(StoreError) -> Plan? {
    do { return try engine.writable(journal, []) { (state) throws(StoreError) in try plan(&state, journal, evenIfEmpty) } } catch
    {
      guard try ListRepair(engine: engine).healLocked(after: error, journal) else { throw error }
      return try engine.writable(journal, []) { (state) throws(StoreError) in try plan(&state, journal, evenIfEmpty) }
    }
  }

  private func plan(_ state: inout EngineState, _ journal: Journal, _ evenIfEmpty: Bool) throws(StoreError) -> Plan? {
    try ForeignChanges(engine: engine).rereadIfChanged(&state, patiently: true)
    guard evenIfEmpty || state.isJournalled || state.values[ReservedName.scrubPending] != nil else { return nil }
    let isPure = try journal.memory.list == state.list
    return Plan(
      values: state.values, encoding: state.encoding, list: state.list, pureWord: isPure ? state.seen : nil)
  }

  /// Nil if the list is no longer the plan's.
  private func write(_ plan: Plan, _ journal: Journal) throws(StoreError) -> ListFingerprint? {
    let data = PropertyList.encode(plan.values, as: plan.encoding)
    // After a power loss the journal must not hold less than the new list: a part of it, replayed over the list, would
    // restore old values.
    try journal.synchronize()
    let old = try FileStatus(at: engine.files.list)
    let mode = old?.permissions ?? 0o600
    // A copy, not a second name: Foundation rewrites the list in place.
    let draft = engine.files.draft(of: journal.file)
    try AtomicFile(engine.files.lastGood, draft: draft, calls: engine.calls).replace(
      with: data.bytes, mode: mode, like: old, durably: false)
    var list: ListFingerprint?
    let isMade = try AtomicFile(engine.files.list, draft: draft, calls: engine.calls).exchange(
      with: data.bytes, mode: mode, like: old,
      beforeRename: { (new) throws(StoreError) in
        engine.calls.reached?(.listWritten)
        // Another journal at the name is folded under another lock: one fold would replace the other's list with an older
        // one.
        if try Relocation(engine: engine).hasMoved(journal) { throw journal.overtaken }
        // A moment later another program's file may be at the path.
        list = ListFingerprint(new)
      },
      isExpected: { found in
        guard ListFingerprint(found) == plan.list else { return false }
        // A concurrent look need not read it, and must not take this process's writes for another's.
        if let list { engine.state.withLock { $0.list = list } }
        return true
      })
    return isMade ? list : nil
  }

  private func empty(_ journal: Journal, _ plan: Plan, _ list: ListFingerprint) throws(StoreError) {
    try engine.state.withLock { (state) throws(StoreError) in
      guard try !journal.isReplaced(state.seen, state.last) else { throw journal.overtaken }
      try beginEpoch(&state, journal, on: list, foldedFrom: plan.pureWord)
      state.list = list
      state.listIsSettled = true
      state.isJournalled = false
      state.foldAt = JournalLayout.foldAt
    }
    engine.calls.reached?(.journalEmptied)
    // Only then may new records replace the old ones on the disk.
    try journal.synchronize()
  }

  /// Frees a long journal that has nothing for the list, because batches were dropped or a fold put kept records last.
  private func tidy(_ journal: Journal) throws(StoreError) {
    try journal.completeFold()
    let isLong = try engine.state.withLock { (state) throws(StoreError) in
      guard state.spentBytes >= JournalLayout.foldAt else { return false }
      let isPure = try journal.memory.list == state.list
      try beginEpoch(&state, journal, on: state.list, foldedFrom: isPure ? state.seen : nil)
      return true
    }
    if isLong { try journal.synchronize() }
  }

  private func beginEpoch(
    _ state: inout EngineState, _ journal: Journal, on list: ListFingerprint, foldedFrom word: JournalWord?
  ) throws(StoreError) {
    state.batches.keepFinished(Self.mostFinished)
    let survivors = state.batches.records
    (state.seen, state.last) = try journal.beginEpoch(
      after: state.seen, state.last, list: list, foldedFrom: survivors.isEmpty ? word : nil, survivors: survivors,
      writer: engine.writer)
    state.start = try journal.memory.start(of: state.seen)
  }
}
