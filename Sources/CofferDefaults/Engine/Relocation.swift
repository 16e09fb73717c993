internal import CofferPlatform
internal import CofferStorage
internal import Synchronization
internal import SystemPackage

/// What becomes of a journal whose name was taken away or given to another file, or that was written over, and of a list whose
/// links lead elsewhere by now.
///
/// Who puts other files there has decided: nothing is written over them. A journal that was only deleted is made anew of what it
/// held. Whoever knows of an acknowledged value that is not in the files that are there, says so once, with the next write.
///
/// The rules, and the histories that refuted simpler ones, are those of the model in `Tests/Models`.
struct Relocation {
  let engine: DefaultsEngine

  /// What a process knew of files before others took their place.
  struct Knowledge: Sendable {
    let values: [String: PlainForm]
    /// Batches whose outcome was open.
    let prepared: [Record.Prepared]
    /// The journal of which it is all.
    let whole: Journal?
  }

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

  /// Goes on with the files that are there, from a reader, who waits for nobody: while a lock or a full disk stands in the way,
  /// what is known stays true.
  ///
  /// A forked child has its parent's locks, and would let them go: to it, what is known stays true.
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

  /// Whether `error` is of a lock that is held, of a disk without room, or of files that were replaced once more: others see to
  /// those. Who could make no journal as the domain was opened reads on where none can be made now.
  private func mayPass(_ error: StoreError, hasJournal: Bool) throws(StoreError) -> Bool {
    let isWaited = [.busy, .noSpace, .moved].contains(error.kind)
    if hasJournal || engine.isReadOnly { return hasJournal && isWaited }
    if isWaited { return true }
    return try FileStatus(ofLinkAt: engine.files.journal) == nil
  }

  /// Makes the journal that stands at the name the one at work, and returns it, with its lock where it can be written. A reader
  /// gets none where there is none, or where it goes on with the old one.
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
        // The one that was made of it is gone as well: those who have that one open are about to make the next.
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
        // It was deleted once more.
        guard error.kind == .moved else { throw error }
        continue
      }
      if !isReader, new?.isWritable != true { throw engine.readOnly }
      if let old, try mustStay(old, until: new) { return nil }
      // Across several replacements, what was known before the first counts.
      if let old, let new, writer.known == nil { writer.known = try giveUp(old, for: new, until: deadline) }
      if let new, new.isWritable { try new.lock(until: deadline) }
      do {
        // Given up as well by now.
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

  /// Makes a journal of what `old` holds, if its folder is the one that it was opened in and has nothing at its name: it was
  /// deleted.
  ///
  /// - Parameter again: also where that was done, and the one that was made was deleted before anybody had it open.
  /// - Returns: whether a journal that is missing has to be made of `old`: an empty one would be other files to all who know
  ///   values.
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
    // Where the list was replaced too, all compare what they know of it.
    if try old.memory.list == ListFingerprint(FileStatus(at: files.list)) {
      try old.memory.store(old.number.load(ordering: .relaxed) &+ 1, .successor)
    }
    try old.memory.mark(.givenUp)
    return true
  }

  /// Whether `old` is in use, or given up for one that was made of it. One that was written over tells nothing.
  private func holdsAll(_ old: Journal) throws(StoreError) -> Bool {
    guard try !isReplaced(old) else { return false }
    let use = try old.memory.use, successor = try old.memory.load(.successor)
    return use == .current || use == .givenUp && successor != 0
  }

  private func isReplaced(_ journal: Journal) throws(StoreError) -> Bool {
    try engine.state.withLock { (state) throws(StoreError) in try journal.isReplaced(state.seen, state.last) }
  }

  /// Whether what was acknowledged and is not in the list may be in `old` alone, and there is no journal yet to go on in.
  private func mustStay(_ old: Journal, until new: Journal?) throws(StoreError) -> Bool {
    if engine.isReadOnly { return false }
    if let new, new.isWritable || !old.isWritable || new.file.isSameFile(as: old.file) { return false }
    // One that was written over says nothing of itself; what was known of it is.
    guard try old.isItself else { return new == nil }
    let use = try old.memory.use
    return new == nil ? use != .removed : use == .current
  }

  /// Says in `old` that nobody writes there any more, where both can be written, and returns what is to be compared with `new`.
  private func giveUp(_ old: Journal, for new: Journal, until deadline: LockDeadline?) throws(StoreError) -> Knowledge? {
    let isShared = old.isWritable && new.isWritable && !old.file.isSameFile(as: new.file)
    if isShared { try old.lock(until: deadline) }
    defer { if isShared { old.unlock() } }
    let known = try engine.state.withLock { (state) throws(StoreError) in try knowledge(of: old, &state, before: new) }
    if isShared, try old.isItself, try old.memory.use == .current { try old.memory.mark(.givenUp) }
    return known
  }

  /// Makes `new` the journal at work, or none. The caller holds its lock, where it can be written.
  private func goOn(
    with new: Journal?, in files: ListFiles, _ writer: inout DefaultsEngine.WriterState
  ) throws(StoreError) {
    if new == nil, writer.journal == nil, files.list == engine.files.list { return }
    try engine.state.withLock { (state) throws(StoreError) in
      if files.list != engine.files.list { state.unreported?.noteMove() }
      engine.location.withLock { $0 = files }
      state.journal = new
      // Also one that cannot be written: what it names is not to be settled in the old one. The next write looks for one that can
      // be.
      writer.journal = new
      state.seen = .never
      if new == nil { state.nextLook = 0 }
      if let new { return try Replay(engine: engine).catchUp(&state, new) }
      state.begin(with: try ListContent.readPatiently(files.list, engine.calls))
    }
  }

  /// What is to be compared with `new`: what this process knows, and what `old` still says. Nil where `new` has it for sure.
  private func knowledge(
    of old: Journal, _ state: inout EngineState, before new: Journal
  ) throws(StoreError) -> Knowledge? {
    if engine.isReadOnly { return nil }
    var whole: Journal?
    // Not what was written over it since: that is what is compared with.
    if try !old.isReplaced(state.seen, state.last) {
      let isSame = old.file.isSameFile(as: new.file)
      // In another folder, as one of links to the same files, the list may be another.
      if isSame, let folder = new.folder, old.folder?.isSameFile(as: folder) ?? false { return nil }
      if try old.memory.use == .removed { return nil }
      // Or it was made of the successor, which was deleted.
      let successor = try old.memory.load(.successor), generation = new.number.load(ordering: .relaxed) &- successor
      if successor != 0, generation < Self.mostHeirs { return nil }
      // What cannot be read of it is known to others, or to nobody.
      do throws(StoreError) { whole = try Replay(engine: engine).finish(&state, old) && !isSame ? old : nil } catch {}
    }
    return Knowledge(values: state.values, prepared: state.batches.prepared, whole: whole)
  }

  /// So many times a journal may be deleted while a process sleeps.
  private static let mostHeirs: UInt64 = 1 << 20

  /// Notes which of the values that were known are not there. The caller holds the lock of `journal`.
  func compare(_ writer: inout DefaultsEngine.WriterState, _ journal: Journal) throws(StoreError) {
    guard let known = writer.known else { return }
    // What is prepared in the new file is a part of it, with either outcome.
    let there = try engine.state.withLock { (state) throws(StoreError) in
      // Where the new file could not be read at first, what is known is still of the old one.
      try engine.refresh(&state)
      return Set(state.batches.prepared.map(\.id) + state.batches.finished.map(\.id))
    }
    try PreparedBatches(engine: engine).resolve(journal)
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
    // Others who have the old one open need not compare what has changed since.
    guard missing.isEmpty, let old = known.whole, old.isWritable else { return }
    try old.memory.store(journal.number.load(ordering: .relaxed), .successor)
  }

  /// Says once which values are missing.
  func tell(_ writer: inout DefaultsEngine.WriterState) throws(StoreError) {
    guard !writer.missing.isEmpty else { return }
    let names = writer.missing.sorted()
    writer.missing = []
    let more = names.count > Self.mostNames ? " and \(names.count - Self.mostNames) more" : ""
    throw StoreError(
      .moved,
      "other files were put in place of those in use, and have other values than were known of "
        + names.prefix(Self.mostNames).map { "'\($0)'" }.joined(separator: ", ") + more,
      place: engine.files.list.string,
      cure: "look at what is there, and set these keys again where you need to; nothing was changed")
  }

  /// More names make no message.
  private static let mostNames = 50
}
