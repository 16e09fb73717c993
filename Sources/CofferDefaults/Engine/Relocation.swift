internal import CofferPlatform
internal import CofferStorage
internal import Synchronization
internal import SystemPackage

/// What becomes of a journal whose name was taken away, and of a list whose links lead elsewhere by now.
///
/// People move files, dot-file tools link to them, backups give them second names. Whoever has the journal open looks now and then
/// whether it is still the file at its name. The first to see that it is not writes what it holds into the journal that is there by
/// then, under the locks of both, and says so in the old one's header: the others, who have it open too, must not do so again later
/// and bring old values back.
struct Relocation {
  let engine: DefaultsEngine

  /// Whether the journal is not the one to write into any more.
  func hasMoved(_ journal: Journal) throws(StoreError) -> Bool {
    if try !engine.files.areReached(from: engine.origin) { return true }
    return try journal.isGone()
  }

  /// Whether the domain of `journal` was removed, and nobody has made it anew where the origin leads to now.
  func isRemovedForGood(_ journal: Journal) throws(StoreError) -> Bool {
    guard try journal.memory.use == .removed else { return false }
    return try FileStatus(ofLinkAt: currentFiles().journal) == nil
  }

  /// The files that the origin leads to now. A folder that is missing is not made: it was moved or removed, with its files.
  private func currentFiles() throws(StoreError) -> ListFiles { try ListFiles(resolving: engine.origin, makingFolder: false) }

  /// Goes on with another journal where `locked`, whose lock the caller holds, is not the one any more. Returns with the lock of
  /// the one that is; throws with none.
  func checkName(
    _ writer: inout DefaultsEngine.WriterState, _ locked: Journal, _ deadline: LockDeadline?
  ) throws(StoreError) -> Journal {
    var journal = locked
    while true {
      do {
        // One that was opened just now was at its name: whoever takes it away again and again must not keep all from writing.
        let isAtWork = try journal === locked ? !hasMoved(journal) : !journal.memory.isRetired()
        if isAtWork {
          writer.nextLinkCheck = CoarseClock.now() + CoarseClock.lookInterval
          return journal
        }
      } catch {
        journal.unlock()
        throw error
      }
      // The one to come may be this file under another name, and a file has one lock.
      journal.unlock()
      journal = try exchange(journal, &writer, deadline)
    }
  }

  /// Makes the journal that is in place of `old` the one at work, and returns with its lock.
  private func exchange(
    _ old: Journal, _ writer: inout DefaultsEngine.WriterState, _ deadline: LockDeadline?
  ) throws(StoreError) -> Journal {
    let files = try currentFiles()
    guard let new = try open(files, until: deadline), new.isWritable else { throw engine.readOnly }
    try lock(new, and: old, until: deadline)
    defer { unlock(old, unlessIs: new) }
    do {
      try engine.state.withLock { (state) throws(StoreError) in try goOn(with: new, in: files, after: old, &state, &writer) }
    } catch {
      new.unlock()
      throw error
    }
    return new
  }

  /// The same from a reader, who waits for nobody: while a lock or a full disk stands in the way, what is known stays true.
  ///
  /// A forked child has its parent's locks, and would let them go: to it, what is known stays true.
  func reopenFromReader(_ state: inout EngineState) throws(StoreError) {
    guard engine.isOfThisProcess else { return }
    _ = try engine.writing.withLockIfAvailable { (writer) throws(StoreError) in
      do throws(StoreError) { try reopen(&state, &writer, until: LockDeadline(after: .zero)) } catch {
        guard state.journal != nil, error.kind == .busy || error.kind == .noSpace else { throw error }
      }
    }
  }

  private func reopen(
    _ state: inout EngineState, _ writer: inout DefaultsEngine.WriterState, until deadline: LockDeadline
  ) throws(StoreError) {
    let files = try currentFiles()
    guard let new = try open(files, until: deadline) else {
      guard engine.isReadOnly else { throw engine.readOnly }
      return try goOnWithoutJournal(in: files, &state, &writer)
    }
    let old = state.journal
    if new.isWritable { try lock(new, and: old, until: deadline) }
    defer {
      if new.isWritable {
        new.unlock()
        unlock(old, unlessIs: new)
      }
    }
    try goOn(with: new, in: files, after: old, &state, &writer)
  }

  private func open(_ files: ListFiles, until deadline: LockDeadline?) throws(StoreError) -> Journal? {
    let isForWriting = try engine.isReadOnly ? false : files.isWritable()
    return try Journal.open(at: files.journal, forWriting: isForWriting, calls: engine.calls, until: deadline)
  }

  /// The old one's lock comes first, for all.
  private func lock(_ new: Journal, and old: Journal?, until deadline: LockDeadline?) throws(StoreError) {
    if let old, !old.file.isSameFile(as: new.file) { try old.lock(until: deadline) }
    do { try new.lock(until: deadline) } catch {
      unlock(old, unlessIs: new)
      throw error
    }
  }

  private func unlock(_ old: Journal?, unlessIs new: Journal) {
    if let old, !old.file.isSameFile(as: new.file) { old.unlock() }
  }

  /// A reader does not make a journal: where there is none, or none any more, the list has everything.
  private func goOnWithoutJournal(
    in files: ListFiles, _ state: inout EngineState, _ writer: inout DefaultsEngine.WriterState
  ) throws(StoreError) {
    guard state.journal != nil || files.list != engine.files.list else { return }
    engine.location.withLock { $0 = files }
    state.journal = nil
    writer.journal = nil
    state.seen = .never
    state.begin(with: try ListContent.readPatiently(files.list, engine.calls))
  }

  /// Makes `new` the journal at work, once it holds what `old` holds and the list does not. The caller holds the locks of both,
  /// where they can be written.
  private func goOn(
    with new: Journal, in files: ListFiles, after old: Journal?, _ state: inout EngineState,
    _ writer: inout DefaultsEngine.WriterState
  ) throws(StoreError) {
    let before = engine.files
    if let old, old.isWritable, new.isWritable, !old.file.isSameFile(as: new.file) {
      do { try carry(old, to: new, in: files, &state) } catch {
        engine.location.withLock { $0 = before }
        throw error
      }
    }
    engine.location.withLock { $0 = files }
    state.journal = new
    writer.journal = new
    state.seen = .never
    if files.list != before.list { state.unreported?.noteMove() }
    try Replay(engine: engine).catchUp(&state, new)
  }

  private func carry(_ old: Journal, to new: Journal, in files: ListFiles, _ state: inout EngineState) throws(StoreError) {
    let use = try catchUp(&state, old)
    guard use == .current || use == .beingCarried else { return }
    let names = journalledNames(state, old)
    engine.location.withLock { $0 = files }
    var there = EngineState()
    there.journal = new
    try Replay(engine: engine).catchUp(&there, new)
    let records = try missing(names, of: old, state, in: new, there, isBegun: use == .beingCarried)
    try old.memory.mark(.beingCarried)
    engine.calls.reached?(.carrying)
    if !records.isEmpty { try engine.append(records, &there, new) }
    // As durable as it was: batches, and values of those that were committed, are it before any fold.
    try new.synchronize()
    engine.calls.reached?(.carried)
    try old.memory.mark(.carried)
  }

  /// Learns all that `old` says, and what has become of it.
  ///
  /// A journal that was spoilt before it was taken away tells nothing more; what is known here stays. Where something else cannot be read,
  /// as the list, what others wrote into `old` would be missed.
  private func catchUp(_ state: inout EngineState, _ old: Journal) throws(StoreError) -> JournalUse {
    var use = JournalUse.current
    do {
      use = try old.memory.use
      if try old.word() != state.seen { try Replay(engine: engine).catchUp(&state, old) }
    } catch {
      guard error.kind == .damaged, error.place == old.path.string else { throw error }
    }
    return use
  }

  /// What `old` holds and `new` does not.
  ///
  /// - Parameters:
  ///   - names: the names that the records of `old` change.
  ///   - isBegun: whether somebody has begun to carry them over, and died.
  private func missing(
    _ names: Set<String>, of old: Journal, _ state: borrowing EngineState, in new: Journal, _ there: borrowing EngineState,
    isBegun: Bool
  ) throws(StoreError) -> [Record] {
    let identity = try old.memory.identity
    let carried = try there.carried + new.memory.carried
    var records: [Record] = []
    // The new journal says whether he who died had written these values. If he had, what stands there is his work, or newer.
    if !carried.contains(identity) {
      // If not, somebody else may have begun to write.
      let newer = isBegun ? try new.changedNames(there.start..<there.seen.end, epoch: there.seen.epoch) : []
      let changed = names.subtracting(newer).filter { there.values[$0] != state.values[$0] }
      if !changed.isEmpty { records.append(.write(changed.map { ($0, state.values[$0]) })) }
      // What was carried over into the old one is in the new one by that too: whoever has such a journal open finds the new one alone.
      let identities = try (old.memory.carried + state.carried).filter { !carried.contains($0) } + [identity]
      records += identities.map { .carried($0) }
    }
    // One that the new journal has completed must not be prepared again: the vault may still remember it as committed, and its old
    // values would then take the place of newer ones.
    let known = Set(there.batches.prepared.map(\.id) + there.batches.finished.map(\.id))
    records += state.batches.prepared.filter { !known.contains($0.id) }.map(Record.prepare)
    // The changes of these were carried as values; the names go along, so that they are forgotten after a fold.
    return records + state.batches.finishedRecords
  }

  /// The names that the records of `journal` change.
  private func journalledNames(_ state: borrowing EngineState, _ journal: Journal) -> Set<String> {
    guard state.isJournalled else { return [] }
    do { return try journal.changedNames(state.start..<state.seen.end, epoch: state.seen.epoch) } catch {
      return Set(state.values.keys)  // Not to be known any more: nothing that was acknowledged may be missed.
    }
  }
}
