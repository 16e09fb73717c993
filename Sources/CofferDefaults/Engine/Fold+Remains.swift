internal import CofferPlatform
internal import CofferStorage
internal import SystemPackage

// The remains of folds, dead, failed or done.
extension Fold {
  /// Completes the work of dead processes, unless another process does so or folds.
  func tidyUp() throws(StoreError) {
    let journal = engine.state.withLock { $0.journal }
    let isLeft = try journal.map { (journal) throws(StoreError) in try journal.memory.put != .none } ?? false
    let (isUndecided, isLong) = engine.state.withLock { state in
      (!state.batches.prepared.isEmpty, state.spentBytes >= Self.foldAtOpen || state.values[ReservedName.scrubPending] != nil)
    }
    guard isLeft || isUndecided || isLong else { return }
    do throws(StoreError) {
      _ = try engine.foldingIfFree { () throws(StoreError) in
        if isLeft { try finishUnfinished() }
        try engine.holdingLock(telling: false) { (journal) throws(StoreError) in
          try PreparedBatches(engine: engine).resolve(journal)
        }
        if isLong { quietly() }
      }
    } catch {
      // The next fold meets the obstacle again. synchronize() reports it, and so does a call that needs an outcome.
      guard error.underlying is Errno || error.kind == .readOnly else { throw error }
    }
  }

  /// Above this, one fold is cheaper than a replay by every process.
  private static var foldAtOpen: Int { JournalLayout.foldAt / 4 }

  func isUnfinished(_ journal: Journal) throws(StoreError) -> Bool {
    guard journal.isWritable else { return false }
    if try journal.memory.put != .none { return true }
    return try journal.memory.load(.unsynced) != 0
  }

  /// Makes an unfinished fold durable, before the next fold makes a file of the same name.
  func finishUnfinished() throws(StoreError) {
    guard let journal = engine.state.withLock({ $0.journal }), try isUnfinished(journal) else { return }
    if try journal.memory.put != .none {
      let isCurrent = try engine.holdingLock(checkingName: true, keepingRemoved: true, telling: false) {
        (current) throws(StoreError) in
        guard current === journal else { return false }
        try putBack(journal)
        return true
      }
      guard isCurrent else { return }
      try AtomicFile.synchronizeFolder(of: engine.files.list, engine.calls)
      if try journal.memory.load(.putEpoch) == journal.wholeWord().epoch { try journal.memory.forgetNextEpoch() }
      try journal.memory.storeNoExchange()
    }
    try journal.synchronize()
  }

  /// Puts back another program's save from during the replacement, unless the fold has gone on since.
  private func putBack(_ journal: Journal) throws(StoreError) {
    let draft = engine.files.draft(of: journal.file)
    guard let left = try FileStatus(ofLinkAt: draft) else { return }
    let put = try journal.memory.put
    let isSaved = try ListFingerprint(left) != journal.memory.former
    if isSaved, try journal.memory.load(.putEpoch) == journal.wholeWord().epoch, try listIs(put) {
      try exchange(draft)
      // A later save by another program is newer.
      if try ListFingerprint(FileStatus(ofLinkAt: draft)) != put { try exchange(draft) }
    }
    let result = engine.calls.unlink(draft.string)
    guard result == 0 || result == -ENOENT else { throw StoreError(errno: -result, "remove the file", place: draft) }
  }

  private func exchange(_ draft: FilePath) throws(StoreError) {
    let result = engine.calls.exchange(draft.string, engine.files.list.string)
    guard result == 0 else {
      throw StoreError(errno: -result, "put back what another program saved, from \(draft)", place: draft)
    }
  }

  private func listIs(_ list: ListFingerprint) throws(StoreError) -> Bool {
    try ListFingerprint(FileStatus(ofLinkAt: engine.files.list)) == list
  }

  // MARK: After a fold

  /// False if the fold must begin again, such as to write the list without the mark.
  func scrub(_ plan: Plan, _ scrubbing: Bool) throws(StoreError) -> Bool {
    let isPending = plan.values[ReservedName.scrubPending] != nil
    guard scrubbing || isPending else { return true }
    let isSame = try engine.holdingLock(telling: false) { (journal) throws(StoreError) in
      guard journal === plan.journal else { return false }
      try journal.scrub(outside: journal.word())
      return true
    }
    try plan.journal.synchronize()
    guard isPending else { return isSame }
    try engine.holdingLock(telling: false) { (journal) throws(StoreError) in
      try engine.state.withLock { (state) throws(StoreError) in
        try engine.refresh(&state)
        try engine.append(.write([(ReservedName.scrubPending, nil)]), &state, journal)
      }
    }
    return false
  }

  /// Frees a long journal with nothing for the list, because batches were dropped or a fold put kept records last.
  func tidy() throws(StoreError) {
    guard engine.state.withLock({ isLong($0) }) else { return }
    _ = try engine.foldingIfFree { () throws(StoreError) in
      let journal = try engine.holdingLock(keepingRemoved: true, telling: false) { (journal) throws(StoreError) -> Journal? in
        try engine.state.withLock { (state) throws(StoreError) in
          try engine.refresh(&state)
          guard isLong(state), !state.isJournalled, try journal.memory.use == .current else { return nil }
          let isPure = try journal.memory.list == state.list
          try beginEpoch(
            &state, journal, from: JournalMark(end: state.seen.end, last: state.last), on: state.list,
            foldedFrom: isPure ? state.seen : nil)
          return journal
        }
      }
      try journal?.completeFold()
    }
  }

  private func isLong(_ state: borrowing EngineState) -> Bool {
    state.spentBytes >= JournalLayout.foldAt || state.start >= Self.farStart
  }

  /// A journal that begins here returns to the front at once.
  private static var farStart: Int { 4 * JournalLayout.frontRoom }
}
