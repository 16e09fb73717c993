internal import CofferPlatform
internal import CofferStorage
internal import Synchronization

/// Follows a journal whose name was removed, given to another file or overwritten, and a list whose links lead elsewhere.
///
/// The user who replaced the files has decided: Coffer overwrites none of them. It remakes a deleted journal from the old
/// content. A process that knows an acknowledged value which the current files lack throws once, at its next write.
///
/// `Tests/Models` has the rules, and the histories that refuted simpler ones.
struct Relocation {
  let engine: DefaultsEngine

  struct Knowledge: Sendable {
    let values: [String: PlainForm]
    let prepared: [Record.Prepared]
    /// The journal that holds all of it.
    let whole: Journal?
  }

  func hasMoved(_ journal: Journal) throws(StoreError) -> Bool {
    if try !engine.files.areReached(from: engine.origin) { return true }
    return try journal.isGone()
  }

  /// Nobody has remade the domain at the origin's current target.
  func isRemovedForGood(_ journal: Journal) throws(StoreError) -> Bool {
    guard try journal.memory.use == .removed else { return false }
    return try FileStatus(ofLinkAt: currentFiles().journal) == nil
  }

  /// A missing folder is not made: it was moved or removed with its files.
  private func currentFiles(makingFolder: Bool = false) throws(StoreError) -> ListFiles {
    try ListFiles(resolving: engine.origin, makingFolder: makingFolder)
  }

  /// Switches a reader to the current files. A reader never waits: during a lock or a full disk its knowledge stays valid. So
  /// does a forked child's, which must not release its parent's locks.
  func follow() throws(StoreError) {
    guard engine.isOfThisProcess else { return }
    _ = try engine.writing.withLockIfAvailable { (writer) throws(StoreError) in
      do throws(StoreError) {
        guard let journal = try exchange(&writer, until: LockDeadline(after: .zero), isReader: true) else { return }
        defer { if journal.isWritable { journal.unlock() } }
        if journal.isWritable { try compare(&writer, journal) }
      } catch {
        guard try mayPass(error, hasJournal: writer.journal != nil) else { throw error }
      }
    }
  }

  /// Leaves a held lock, a full disk or another replacement to other calls. A process that never could make a journal keeps
  /// reading if it still cannot.
  private func mayPass(_ error: StoreError, hasJournal: Bool) throws(StoreError) -> Bool {
    let isWaited = [.busy, .noSpace, .moved].contains(error.kind)
    if hasJournal || engine.isReadOnly { return hasJournal && isWaited }
    if isWaited { return true }
    return try FileStatus(ofLinkAt: engine.files.journal) == nil
  }

  /// Returns the journal at the name, locked if it can be written. A reader gets nil if there is none, or if it keeps the old
  /// one.
  func exchange(
    _ writer: inout DefaultsEngine.WriterState, until deadline: LockDeadline?, isReader: Bool = false
  ) throws(StoreError) -> Journal? {
    let old = writer.journal
    let patience = LockDeadline(after: .nanoseconds(10 * CoarseClock.lookInterval))
    while true {
      let files = try currentFiles(makingFolder: old == nil && !isReader)
      let isForWriting = try engine.isReadOnly ? false : files.isWritable()
      var mayMake = true
      if let old, isForWriting {
        mayMake = try !makeAnew(old, again: patience.isOver, in: files, until: deadline)
        // Processes that have the successor open will soon make the next one.
        if !patience.isOver, try old.isItself, try old.memory.load(.successor) != 0,
          try FileStatus(ofLinkAt: files.journal) == nil
        {
          if isReader { return nil }
          ListContent.pause()
          continue
        }
      }
      let overwritten = try old.flatMap { (old) throws(StoreError) in try isReplaced(old) ? old : nil }
      let new: Journal?
      do throws(StoreError) {
        new = try Journal.open(
          of: files, forWriting: isForWriting, mayMake: mayMake, calls: engine.calls, until: deadline, overwritten: overwritten)
      } catch {
        guard error.kind == .moved else { throw error }
        continue
      }
      if !isReader, new?.isWritable != true { throw engine.readOnly }
      if let old, try mustStay(old, until: new) { return nil }
      // After several replacements, the knowledge from before the first one counts.
      if let old, let new, writer.known == nil { writer.known = try giveUp(old, for: new, until: deadline) }
      if let new, new.isWritable { try new.lock(until: deadline) }
      do {
        if let new, new.isWritable, try new.memory.isRetired() {
          new.unlock()
          continue
        }
        try goOn(with: new, in: files, &writer)
      } catch {
        if let new, new.isWritable { new.unlock() }
        throw error
      }
      return new
    }
  }

  /// Makes a journal from the content of `old`, if the journal was deleted: the folder is the same one, without a file at the
  /// name.
  ///
  /// - Parameter again: also if a successor was made and deleted before anybody had opened it.
  /// - Returns: whether a missing journal must be made from `old`. An empty one would look replaced to all processes that
  ///   know values.
  private func makeAnew(
    _ old: Journal, again: Bool, in files: ListFiles, until deadline: LockDeadline?
  ) throws(StoreError) -> Bool {
    guard old.isWritable, files.journal == old.path, let folder = try FileStatus(at: files.folder),
      old.folder.map(folder.isSameFile) ?? false
    else { return false }
    guard try FileStatus(ofLinkAt: old.path) == nil else { return try holdsAll(old) }
    try old.lock(until: deadline)
    defer { old.unlock() }
    guard try holdsAll(old) else { return false }
    let use = try old.memory.use
    guard again || use == .current else { return true }
    guard try Journal.make(at: old.path, of: old, engine.calls, until: deadline) else { return false }
    engine.calls.reached?(.journalNamed)
    // If the list was also replaced, but not by a fold, all processes compare their knowledge with it.
    let list = try ListFingerprint(FileStatus(at: files.list))
    let (known, put) = (try old.memory.list, try old.memory.put)
    if list == known || list == put {
      try old.memory.store(old.number.load(ordering: .relaxed) &+ 1, .successor)
    }
    try old.memory.mark(.givenUp)
    return true
  }

  /// An overwritten journal cannot tell.
  private func holdsAll(_ old: Journal) throws(StoreError) -> Bool {
    guard try !isReplaced(old) else { return false }
    let use = try old.memory.use, successor = try old.memory.load(.successor)
    return use == .current || use == .givenUp && successor != 0
  }

  private func isReplaced(_ journal: Journal) throws(StoreError) -> Bool {
    try engine.state.withLock { (state) throws(StoreError) in try journal.isReplaced(state.seen, state.last) }
  }

  /// Whether `old` may be the only place of acknowledged values that the list lacks.
  private func mustStay(_ old: Journal, until new: Journal?) throws(StoreError) -> Bool {
    if engine.isReadOnly { return false }
    if let new, new.isWritable || !old.isWritable || new.file.isSameFile(as: old.file) { return false }
    // The process's memory of an overwritten journal still counts.
    guard try old.isItself else { return new == nil }
    let use = try old.memory.use
    return new == nil ? use != .removed : use == .current
  }

  /// Marks `old` as given up, if both can be written, and returns the knowledge to compare with `new`.
  private func giveUp(_ old: Journal, for new: Journal, until deadline: LockDeadline?) throws(StoreError) -> Knowledge? {
    let isShared = old.isWritable && new.isWritable && !old.file.isSameFile(as: new.file)
    if isShared { try old.lock(until: deadline) }
    defer { if isShared { old.unlock() } }
    let known = try engine.state.withLock { (state) throws(StoreError) in try knowledge(of: old, &state, before: new) }
    if isShared, try old.isItself, try old.memory.use == .current { try old.memory.mark(.givenUp) }
    return known
  }

  /// The caller holds the lock of `new`, if it can be written.
  private func goOn(
    with new: Journal?, in files: ListFiles, _ writer: inout DefaultsEngine.WriterState
  ) throws(StoreError) {
    if new == nil, writer.journal == nil, files.list == engine.files.list { return }
    try engine.state.withLock { (state) throws(StoreError) in
      if files.list != engine.files.list { state.unreported?.noteMove() }
      engine.location.withLock { $0 = files }
      state.journal = new
      // Even a read-only one: its batches must not be settled in the old one. The next write looks for a writable one.
      writer.journal = new
      state.seen = .never
      if new == nil { state.nextLook = 0 }
      if let new { return try Replay(engine: engine).catchUp(&state, new) }
      state.begin(with: try ListContent.readPatiently(files.list, engine.calls))
    }
  }

  /// Nil if `new` certainly has all of it.
  private func knowledge(
    of old: Journal, _ state: inout EngineState, before new: Journal
  ) throws(StoreError) -> Knowledge? {
    if engine.isReadOnly { return nil }
    var whole: Journal?
    if try !old.isReplaced(state.seen, state.last) {
      let isSame = old.file.isSameFile(as: new.file)
      // In another folder, such as one of links to the same files, the list may differ.
      if isSame, let folder = new.folder, old.folder?.isSameFile(as: folder) ?? false { return nil }
      if try old.memory.use == .removed { return nil }
      let successor = try old.memory.load(.successor), generation = new.number.load(ordering: .relaxed) &- successor
      if successor != 0, generation < Self.mostHeirs { return nil }
      // Either other processes know the unreadable parts, or nobody does.
      do throws(StoreError) { whole = try Replay(engine: engine).finish(&state, old) && !isSame ? old : nil } catch {}
    }
    return Knowledge(values: state.values, prepared: state.batches.prepared, whole: whole)
  }

  /// The most deletions that a process may miss.
  private static let mostHeirs: UInt64 = 1 << 20

  /// Notes the known values that are missing. The caller holds the lock of `journal`.
  func compare(_ writer: inout DefaultsEngine.WriterState, _ journal: Journal) throws(StoreError) {
    guard let known = writer.known else { return }
    // Prepared batches of the new file belong to it, with either outcome.
    let there = try engine.state.withLock { (state) throws(StoreError) in
      // If the new file could not be read at first, the knowledge is still the old one's.
      try engine.refresh(&state)
      return Set(state.batches.prepared.map(\.id) + state.batches.finished.map(\.id))
    }
    // A process that folds now has settled them, or could not.
    _ = try engine.foldingIfFree { () throws(StoreError) in try PreparedBatches(engine: engine).resolve(journal) }
    var missing: Set<String> = []
    var settled: [String: PlainForm?] = [:]
    for batch in known.prepared {
      for (name, form) in batch.changes {
        if there.contains(batch.id) { settled[name] = .some(form) } else { missing.insert(name) }
      }
    }
    engine.state.withLock { state in
      for name in Set(known.values.keys).union(state.values.keys) where known.values[name] != state.values[name] {
        if settled[name] != .some(state.values[name]) { missing.insert(name) }
      }
    }
    writer.known = nil
    writer.missing.formUnion(missing)
    // Other processes with the old one open need not compare later changes.
    guard missing.isEmpty, let old = known.whole, old.isWritable else { return }
    try old.memory.store(journal.number.load(ordering: .relaxed), .successor)
  }

  func tell(_ writer: inout DefaultsEngine.WriterState) throws(StoreError) {
    guard !writer.missing.isEmpty else { return }
    let names = writer.missing.sorted()
    writer.missing = []
    let more = names.count > Self.mostNames ? " and \(names.count - Self.mostNames) more" : ""
    throw StoreError(
      .moved,
      "the files in use were replaced, and the new ones have other values of "
        + names.prefix(Self.mostNames).map { "'\($0)'" }.joined(separator: ", ") + more,
      place: engine.files.list.string,
      cure: "check the values, and set these keys again if needed; nothing was changed")
  }

  /// The most names in a message.
  private static let mostNames = 50
}
