internal import CofferPlatform
internal import CofferStorage
internal import FoundationEssentials
internal import Synchronization
internal import SystemPackage

/// Writes the journal's changes into the property list, where Foundation and editors see them.
///
/// It waits for the disk without the writers' lock, so that they can append. `Tests/Models/fold.py` has the rules.
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
    do { if try !isRemoved() { try run(scrubbing: scrubbing, telling: telling) } } catch { throw unfolded(error) }
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
  /// journal, reports the obstacle. Does nothing during another fold.
  func quietly() {
    Waiting.optionally {
      do { _ = try ifFree() } catch { engine.state.withLock { $0.foldAt = $0.spentBytes + JournalLayout.foldAt } }
    }
  }

  /// As ``synchronize(scrubbing:telling:)`` for nobody who listens; false during another fold.
  func ifFree() throws(StoreError) -> Bool {
    do {
      if try isRemoved() { return true }
      return try engine.foldingIfFree { () throws(StoreError) in try run(telling: false) } != nil
    } catch { throw unfolded(error) }
  }

  /// Folds after a write without the right to fold, on the folding thread if there may be one.
  func soon() {
    if !engine.idle.foldNow(engine) { quietly() }
  }

  private enum Step {
    case done, again
    case planned(Plan)
  }

  struct Plan {
    let place: FilePath
    let journal: Journal
    /// The records up to here are folded.
    let word: JournalWord
    let mark: JournalMark
    let values: [String: PlainForm]
    let encoding: PropertyList.Encoding
    let list: ListFingerprint
    /// Whether nobody else changed the list since the last fold.
    let isPure: Bool
    let batches: Set<TransactionID>
  }

  private func run(scrubbing: Bool = false, telling: Bool) throws(StoreError) {
    for _ in 0..<Self.attempts {
      let isDone = try engine.folding { () throws(StoreError) in
        try finishUnfinished()
        let begin = CoarseClock.now()
        switch try plan(evenIfEmpty: scrubbing, telling) {
        case .done: return true
        case .again: return false
        case .planned(let plan):
          let timing = Measure.begin(.fold)
          defer { timing?.end() }
          guard try write(plan) else { return false }
          try plan.journal.completeFold()
          try plan.journal.memory.storeNoExchange()
          try plan.journal.memory.store(CoarseClock.now() - begin, .foldTime)
          return try scrub(plan, scrubbing)
        }
      }
      if isDone { return try tidy() }
    }
    throw StoreError(
      .busy, "another program keeps rewriting the property list", place: engine.files.list.string,
      cure: "end that program and try again; every value is safe in the journal")
  }

  /// Then the lock's file is not made either.
  private func isRemoved() throws(StoreError) -> Bool {
    guard let journal = engine.state.withLock({ $0.journal }) else { return false }
    return try Relocation(engine: engine).isRemovedForGood(journal)
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

  // MARK: Under the writers' lock

  private func plan(evenIfEmpty: Bool, _ telling: Bool) throws(StoreError) -> Step {
    let place = engine.files.list
    return try engine.holdingLock(checkingName: true, keepingRemoved: true, telling: telling) { (journal) throws(StoreError) in
      if try journal.memory.use == .removed { return .done }
      // Another journal or lock is in use.
      guard engine.files.list == place, try !isUnfinished(journal) else { return .again }
      let plan: Plan?
      do throws(StoreError) { plan = try planned(place, journal, evenIfEmpty) } catch {
        guard try ListRepair(engine: engine).healLocked(after: error, journal) else { throw error }
        plan = try planned(place, journal, evenIfEmpty)
      }
      return plan.map(Step.planned) ?? .done
    }
  }

  private func planned(_ place: FilePath, _ journal: Journal, _ evenIfEmpty: Bool) throws(StoreError) -> Plan? {
    let plan = try engine.writable(journal) { (state) throws(StoreError) -> Plan? in
      try ForeignChanges(engine: engine).rereadIfChanged(&state, patiently: true)
      guard evenIfEmpty || state.isJournalled || state.values[ReservedName.scrubPending] != nil else { return nil }
      return Plan(
        place: place, journal: journal, word: state.seen, mark: JournalMark(end: state.seen.end, last: state.last),
        values: state.values, encoding: state.encoding, list: state.list, isPure: try journal.memory.list == state.list,
        batches: state.batches.ids)
    }
    return plan ?? nil
  }

  /// Runs `body` if the plan's journal, list and epoch are still current.
  private func following(
    _ plan: Plan, _ body: (inout EngineState) throws(StoreError) -> Bool
  ) throws(StoreError) -> Bool {
    try engine.holdingLock(checkingName: true, keepingRemoved: true, telling: false) { (journal) throws(StoreError) in
      guard journal === plan.journal, engine.files.list == plan.place, try journal.memory.use == .current else { return false }
      return try engine.state.withLock { (state) throws(StoreError) in
        try engine.refresh(&state)
        guard try !journal.isReplaced(state.seen, state.last) else { throw journal.overtaken }
        // Other batches mean a process with another lock, because somebody removed the lock's file.
        guard state.seen.epoch == plan.word.epoch, state.batches.ids.isSubset(of: plan.batches) else { return false }
        return try body(&state)
      }
    }
  }

  // MARK: Without it

  /// False if the fold must begin again.
  private func write(_ plan: Plan) throws(StoreError) -> Bool {
    let data = PropertyList.encode(plan.values, as: plan.encoding)
    let old = try FileStatus(at: plan.place)
    let mode = old?.permissions ?? 0o600
    // A copy, not a second name: Foundation rewrites the list in place.
    let draft = engine.files.draft(of: plan.journal.file)
    try AtomicFile(engine.files.lastGood, draft: draft, calls: engine.calls).replace(
      with: data.bytes, mode: mode, like: old, durably: false)
    try plan.journal.memory.noteFoldStep()
    let target = AtomicFile(plan.place, draft: draft, calls: engine.calls)
    var file = try FileExchange(target, with: data.bytes, mode: mode, like: old)
    engine.calls.reached?(.listWritten)
    try plan.journal.memory.noteFoldStep()
    try plan.journal.memory.storeExchange(of: plan.list, for: ListFingerprint(file.status), in: plan.word.epoch)
    // After a power loss the journal must not hold less than the new list: a part of it, replayed over the list, would
    // restore old values. It must also have the note of the exchange.
    try plan.journal.synchronize()
    guard try exchange(&file, plan) else {
      file.discard()
      return false
    }
    try plan.journal.memory.noteFoldStep()
    let synced = Result { () throws(StoreError) in try file.synchronize() }
    try plan.journal.memory.noteFoldStep()
    // The list has these batches.
    if case .success = synced { PreparedBatches(engine: engine).forgetFinished() }
    let isFolded = try finish(&file, plan, synced)
    // The list may stay for another journal's fold, unless another program saved the old one.
    if !isFolded { _ = try file.finish { ListFingerprint($0) == plan.list } }
    return isFolded
  }

  private func exchange(_ file: inout FileExchange, _ plan: Plan) throws(StoreError) -> Bool {
    // Later another program's file may be at the path.
    let list = ListFingerprint(file.status)
    return try following(plan) { (state) throws(StoreError) in
      try file.exchange { (found) in
        guard ListFingerprint(found) == plan.list else { return false }
        // Looks need not read the list, and must not mistake this process's writes for another's.
        (state.list, state.listIsSettled) = (list, true)
        return true
      }
    }
  }

  private func finish(
    _ file: inout FileExchange, _ plan: Plan, _ synced: Result<Void, StoreError>
  ) throws(StoreError) -> Bool {
    let list = ListFingerprint(file.status)
    let isFolded = try following(plan) { (state) throws(StoreError) in
      guard try file.finish({ ListFingerprint($0) == plan.list }) else { return false }
      try synced.get()
      let hasTail = state.seen.end > plan.mark.end
      try beginEpoch(&state, plan.journal, from: plan.mark, on: list, foldedFrom: plan.isPure ? plan.word : nil)
      state.list = list
      state.isJournalled = hasTail
      state.foldAt = JournalLayout.foldAt
      return true
    }
    if isFolded { engine.calls.reached?(.journalEmptied) }
    return isFolded
  }

  func beginEpoch(
    _ state: inout EngineState, _ journal: Journal, from mark: JournalMark, on list: ListFingerprint,
    foldedFrom word: JournalWord?
  ) throws(StoreError) {
    state.batches.keepFinished(Self.mostFinished)
    let survivors = state.batches.records
    (state.seen, state.last) = try journal.beginEpoch(
      after: state.seen, from: mark, list: list, foldedFrom: survivors.isEmpty ? word : nil, survivors: survivors,
      writer: engine.writer)
    state.start = try journal.memory.start(of: state.seen)
  }
}
