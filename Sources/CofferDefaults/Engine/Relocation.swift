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
  private func currentFiles(makingFolder: Bool = false) throws(StoreError) -> ListFiles {
    try ListFiles(resolving: engine.origin, makingFolder: makingFolder)
  }

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

  /// Makes the journal that is in place of `old`, or of none, the one at work, and returns with its lock.
  func exchange(
    _ old: Journal?, _ writer: inout DefaultsEngine.WriterState, _ deadline: LockDeadline?
  ) throws(StoreError) -> Journal {
    var mayFold = true
    while true {
      let files = try currentFiles(makingFolder: old == nil)
      guard let new = try open(files, until: deadline), new.isWritable else { throw engine.readOnly }
      guard try lock(new, and: old, until: deadline) else { continue }
      defer { unlock(old, unlessIs: new) }
      do {
        try engine.state.withLock { (state) throws(StoreError) in try goOn(with: new, in: files, after: old, &state, &writer) }
      } catch {
        new.unlock()
        guard case .tooLarge(limit: JournalLayout.capacity) = error.kind, mayFold else { throw error }
        mayFold = false
        try fold(files, until: deadline)
        continue
      }
      return new
    }
  }

  /// Folds the journal of `files` as whoever opens a domain does: those who filled it may be gone.
  private func fold(_ files: ListFiles, until deadline: LockDeadline?) throws(StoreError) {
    let deadline = deadline ?? LockDeadline(after: FileLock.patience)
    _ = try DefaultsEngine(files, from: engine.origin, engine.options.withLock { $0 }, until: deadline)
  }

  /// The same from a reader, who waits for nobody: while a lock, a full disk or a full journal stands in the way, what is known stays true.
  ///
  /// A forked child has its parent's locks, and would let them go: to it, what is known stays true.
  func reopenFromReader(_ state: inout EngineState) throws(StoreError) {
    guard engine.isOfThisProcess else { return }
    _ = try engine.writing.withLockIfAvailable { (writer) throws(StoreError) in
      do throws(StoreError) { try reopen(&state, &writer, until: LockDeadline(after: .zero)) } catch {
        guard try mayPass(error, hasJournal: state.journal != nil) else { throw error }
      }
    }
  }

  /// Whether `error` is of a lock that is held, of a disk without room, or of a journal without any: others see to those. Who could make no
  /// journal as the domain was opened reads on where none can be made now.
  private func mayPass(_ error: StoreError, hasJournal: Bool) throws(StoreError) -> Bool {
    let isWaited =
      switch error.kind {
      case .busy, .noSpace, .tooLarge(limit: JournalLayout.capacity): true
      default: false
      }
    if hasJournal || engine.isReadOnly { return hasJournal && isWaited }
    if isWaited { return true }
    return try FileStatus(ofLinkAt: engine.files.journal) == nil
  }

  private func reopen(
    _ state: inout EngineState, _ writer: inout DefaultsEngine.WriterState, until deadline: LockDeadline
  ) throws(StoreError) {
    let files = try currentFiles()
    let next = try open(files, until: deadline)
    let old = state.journal
    if let old, try mustStay(old, until: next) { return }
    guard let new = next else {
      if let old, !engine.isReadOnly {
        guard !old.isWritable else { throw engine.readOnly }
        // What was taken away may hold more than the list does; what was removed does not.
        if try old.memory.use == .current { return }
      }
      return try goOnWithoutJournal(in: files, &state, &writer)
    }
    if new.isWritable, try !lock(new, and: old, until: deadline) { return }
    defer {
      if new.isWritable {
        new.unlock()
        unlock(old, unlessIs: new)
      }
    }
    try goOn(with: new, in: files, after: old, &state, &writer)
  }

  /// Whether what was acknowledged and is not in the list may be in `old` alone, and there is no journal yet to carry it over to.
  private func mustStay(_ old: Journal, until new: Journal?) throws(StoreError) -> Bool {
    guard old.isWritable else { return false }
    if let new, new.isWritable || new.file.isSameFile(as: old.file) { return false }
    let use = try old.memory.use
    return use == .current || use == .beingCarried
  }

  private func open(_ files: ListFiles, until deadline: LockDeadline?) throws(StoreError) -> Journal? {
    let isForWriting = try engine.isReadOnly ? false : files.isWritable()
    return try Journal.open(of: files, forWriting: isForWriting, calls: engine.calls, until: deadline)
  }

  /// Takes the locks of both, the old one's first, as all do; false, with neither, where the new one was given up meanwhile as well: what is
  /// written there nobody would carry on.
  private func lock(_ new: Journal, and old: Journal?, until deadline: LockDeadline?) throws(StoreError) -> Bool {
    if let old, !old.file.isSameFile(as: new.file) { try old.lock(until: deadline) }
    var areKept = false
    defer { if !areKept { unlock(old, unlessIs: new) } }
    try new.lock(until: deadline)
    defer { if !areKept { new.unlock() } }
    areKept = try !new.memory.isRetired()
    return areKept
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
    // Also one that cannot be written: what it names is not to be settled in the old one. The next write looks for one that can be.
    writer.journal = new
    state.seen = .never
    if files.list != before.list { state.unreported?.noteMove() }
    try Replay(engine: engine).catchUp(&state, new)
  }
}
