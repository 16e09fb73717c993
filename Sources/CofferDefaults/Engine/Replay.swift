internal import CofferPlatform
internal import Synchronization

/// Applies the journal's records to the known values, without the file's lock.
struct Replay {
  let engine: DefaultsEngine

  /// - Throws: ``Journal/overtaken`` if the file does not continue from `state.seen`; `.damaged` and others.
  func catchUp(_ state: inout EngineState, _ journal: Journal) throws(StoreError) {
    do { try followWord(&state, journal) } catch {
      guard error.place == journal.path.string, try journal.isReplaced(state.seen, state.last) else { throw error }
      throw journal.overtaken
    }
    // Later records are in another journal.
    if try journal.memory.isRetired() { state.nextLook = 0 }
  }

  /// Applies the rest of a journal that is out of use, and uses the list only if it still belongs to the journal. False if the
  /// known values may be older than the journal's records.
  func finish(_ state: inout EngineState, _ journal: Journal) throws(StoreError) -> Bool {
    var isWhole = true
    let word = try journal.wholeWord()
    if word.epoch != state.seen.epoch, try !followFold(&state, journal, word) {
      let content = try ListContent.read(engine.files.list, engine.calls)
      // The records follow this list, copied or not.
      isWhole = [try journal.memory.list, try journal.memory.put].contains { content.fingerprint.isCopy(of: $0) }
      if isWhole { state.begin(with: content) }
      state.batches.beginAgain()
      state.start = try journal.memory.start(of: word)
      state.seen = JournalWord(epoch: word.epoch, end: state.start)
      state.last = try journal.memory.seed(of: word.epoch)
    }
    let isRead = try readTail(&state, journal, to: word)
    return isRead && isWhole
  }

  private func followWord(_ state: inout EngineState, _ journal: Journal) throws(StoreError) {
    for _ in 0..<Self.attempts {
      let word = try journal.wholeWord()
      if state.seen != .never, word.isBehind(state.seen) { throw journal.overtaken }
      if word.epoch != state.seen.epoch {
        try journal.checkFormat()
        if try followFold(&state, journal, word) { continue }
        let content = try ListContent.readPatiently(engine.files.list, engine.calls)
        // Both may have been replaced: compare the old knowledge with them first.
        if state.seen != .never, try Relocation(engine: engine).hasMoved(journal) { throw journal.overtaken }
        if try reload(&state, content) { return }
      } else if try readTail(&state, journal, to: word) {
        return
      }
    }
    throw StoreError(
      .busy, "the journal is folded faster than it can be read", place: journal.path.string, cure: "try again")
  }

  /// Folds between two looks before a reader stops trying.
  static var attempts: Int { 64 }

  /// False after a fold in between.
  private func readTail(
    _ state: inout EngineState, _ journal: Journal, to word: JournalWord
  ) throws(StoreError) -> Bool {
    try journal.withRecords(state.seen.end..<word.end) { (bytes) throws(StoreError) in
      guard try journal.word().epoch == word.epoch else { return false }
      apply(bytes, &state)
      // Within an epoch, committed bytes are never rewritten.
      guard state.seen == word else { throw journal.torn }
      return true
    }
  }

  private func apply(_ bytes: UnsafeRawBufferPointer, _ state: inout EngineState) {
    let epoch = state.seen.epoch
    var offset = 0
    while let (record, end) = Record.decode(UnsafeRawBufferPointer(rebasing: bytes[offset...]), epoch: epoch, after: state.last) {
      if state.unreported != nil { state.unreported?.author = author(UnsafeRawBufferPointer(rebasing: bytes[offset...])) }
      state.apply(record)
      offset += end.count
      state.last = end
    }
    if state.unreported != nil { state.unreported?.author = .here }
    state.seen = state.seen.advanced(by: offset)
  }

  /// True if `state`, with the rest of the folded records, is the fold's result.
  private func followFold(_ state: inout EngineState, _ journal: Journal, _ word: JournalWord) throws(StoreError) -> Bool {
    let folded = JournalWord(rawValue: try journal.memory.load(.foldedFrom))
    guard folded.isWhole, folded.epoch == state.seen.epoch, state.seen != .never else { return false }
    let start = try journal.memory.start(of: word), seed = try journal.memory.seed(of: word.epoch)
    if state.seen.end < folded.end {
      let isComplete = try journal.withRecords(state.seen.end..<folded.end) { (bytes) throws(StoreError) in
        // New records overwrite the folded ones from the front; later ones remain.
        let now = try journal.word()
        guard now.epoch == word.epoch, start >= folded.end || now.end <= state.seen.end else { return false }
        apply(bytes, &state)
        return state.seen == folded
      }
      guard isComplete else { return false }
    }
    let end = start + state.seen.end - folded.end
    // The fold copied the records after the folded ones. This process may know some of them.
    let last = end == start ? seed : try moved(state.last, between: start, end, journal)
    let list = try journal.memory.list
    guard try journal.word().epoch == word.epoch, end <= word.end else { return false }
    guard let last, end > start || seed.check == state.last.check else { throw journal.overtaken }
    state.list = list
    state.listIsSettled = true
    state.isJournalled = end > start
    state.batches.forgetFinished()
    state.start = start
    state.seen = JournalWord(epoch: word.epoch, end: end)
    state.last = last
    return true
  }

  /// The copy of the record `last`, which ends at `end` of an epoch.
  private func moved(
    _ last: RecordLink, between start: Int, _ end: Int, _ journal: Journal
  ) throws(StoreError) -> RecordLink? {
    let begin = JournalLayout.headerBytes + end - last.count
    guard begin >= start, try Int(journal.memory.load32(begin)) == last.count else { return nil }
    return RecordLink(check: try journal.memory.load32(begin + 4), count: last.count)
  }

  /// False after a fold in between.
  func reload(_ state: inout EngineState, _ content: consuming ListContent) throws(StoreError) -> Bool {
    guard let journal = state.journal else {
      state.begin(with: content)
      return true
    }
    // A fold between the two leaves a list newer than these records, with the same values.
    let word = try journal.wholeWord()
    let start = try journal.memory.start(of: word), seed = try journal.memory.seed(of: word.epoch)
    guard start <= word.end else {
      // A fold explains it.
      if try journal.word() == word { throw journal.memory.damagedHeader }
      return false
    }
    if word.epoch != state.seen.epoch, try ListFingerprint(FileStatus(at: engine.files.list)) != content.fingerprint {
      return false
    }
    // Known records stay known until they are found there.
    let isThere = try journal.withRecords(start..<word.end) { (bytes) throws(StoreError) in
      guard try journal.word().epoch == word.epoch else { return false }
      guard Record.wholeBytes(bytes, epoch: word.epoch, after: seed) == bytes.count else { throw journal.torn }
      return true
    }
    guard isThere else { return false }
    state.begin(with: content)
    state.start = start
    state.seen = JournalWord(epoch: word.epoch, end: start)
    state.last = seed
    return try readTail(&state, journal, to: word)
  }

  /// The writer's numbers may equal this process's own, if another of its engines or a process of another container wrote.
  /// This engine's own records never come from the file.
  private func author(_ bytes: UnsafeRawBufferPointer) -> UnreportedChanges.Author {
    let author = Record.writer(bytes)
    let isHere =
      author.process == engine.writer.process && author.instance != engine.writer.instance
      && author.instance <= DefaultsEngine.lastInstance
    return .init(origin: isHere ? .thisProcess : .otherProcess(id: Int32(bitPattern: author.process)))
  }
}

/// Finds changes by programs that do not know the journal's lock.
struct ForeignChanges {
  let engine: DefaultsEngine

  /// Checks whether another program removed or overwrote the journal, or rewrote the list.
  ///
  /// - Parameter forWrite: whether to throw for an unreadable list at once, after the pause for a program that writes it.
  /// - Throws: ``Journal/overtaken`` before it learns anything of the list; `.moved` if there may now be a first journal.
  func look(_ state: inout EngineState, _ now: UInt64, following: Bool, forWrite: Bool) throws(StoreError) {
    state.nextLook = state.journal == nil ? 0 : now + CoarseClock.lookInterval
    if following {
      guard let journal = state.journal else {
        if try mayHaveJournal() {
          throw StoreError(.moved, "a journal may be there", place: engine.files.list.string, cure: "try again")
        }
        return try lookAtList(&state, forWrite: forWrite)
      }
      guard try !Relocation(engine: engine).hasMoved(journal), try !journal.isReplaced(state.seen, state.last) else {
        throw journal.overtaken
      }
    }
    try lookAtList(&state, forWrite: forWrite)
  }

  private func lookAtList(_ state: inout EngineState, forWrite: Bool) throws(StoreError) {
    do { try rereadIfChanged(&state, patiently: forWrite) } catch {
      guard case .damaged = error.kind else {
        if error.kind == .busy { state.nextLook = 0 }  // The call looks again where it may wait.
        throw error
      }
      let found = try ListFingerprint(FileStatus(at: engine.files.list))
      // Perhaps half written: known values hold until the next look. A write has waited for the rest.
      let isSuspect = state.suspect == found
      state.suspect = found
      guard isSuspect || forWrite else { return }
      state.nextLook = 0  // Every call looks, and throws, until the file changes.
      throw error
    }
  }

  /// Whether a journal might be made at the origin's current target.
  private func mayHaveJournal() throws(StoreError) -> Bool {
    let files = engine.files
    if engine.isReadOnly { return true }
    if try !files.areReached(from: engine.origin) { return true }
    if try FileStatus(ofLinkAt: files.journal) != nil { return true }
    return try files.isWritable()
  }

  /// True when the list was read.
  ///
  /// - Throws: ``Journal/overtaken`` if the journal lost its name meanwhile: both may have been replaced.
  @discardableResult
  func rereadIfChanged(_ state: inout EngineState, patiently: Bool = false) throws(StoreError) -> Bool {
    let found = try ListFingerprint(FileStatus(at: engine.files.list))
    if found == state.list, state.listIsSettled { return false }
    for _ in 0..<Replay.attempts {
      let content =
        patiently
        ? try ListContent.readPatiently(engine.files.list, engine.calls) : try ListContent.read(engine.files.list, engine.calls)
      if let journal = state.journal, try Relocation(engine: engine).hasMoved(journal) { throw journal.overtaken }
      if try Replay(engine: engine).reload(&state, content) { return true }
    }
    throw StoreError(
      .busy, "the property list is rewritten faster than it can be read", place: engine.files.list.string, cure: "try again")
  }
}
