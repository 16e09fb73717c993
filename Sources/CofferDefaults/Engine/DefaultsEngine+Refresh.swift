internal import CofferPlatform
internal import CofferStorage
internal import Synchronization
internal import SystemPackage

// What a process knows is brought up to date here, without any lock of the file.
extension DefaultsEngine {
  /// Brings `state` up to what other processes have acknowledged, and now and then looks for changes by other programs.
  @inline(__always)
  func refresh(_ state: inout EngineState) throws(StoreError) {
    let now = CoarseClock.now()
    if now >= state.nextLook { try look(&state, now) }
    guard let sidecar = state.sidecar else { return }
    if try sidecar.word() != state.seen { try catchUp(&state, sidecar) }
  }

  /// Whether ``refresh(_:)`` would find nothing to do.
  @inline(__always)
  func isCurrent(_ state: borrowing EngineState) throws(StoreError) -> Bool {
    guard CoarseClock.now() < state.nextLook else { return false }
    guard let sidecar = state.sidecar else { return true }
    return try sidecar.word() == state.seen
  }

  /// Applies what was appended to the journal since `state.seen`.
  func catchUp(_ state: inout EngineState, _ sidecar: Sidecar) throws(StoreError) {
    try followWord(&state, sidecar)
    // It was given up with the last word: what comes next stands in another.
    if try sidecar.isRetired() { state.nextLook = 0 }
  }

  private func followWord(_ state: inout EngineState, _ sidecar: Sidecar) throws(StoreError) {
    for _ in 0..<Self.attempts {
      let word = try sidecar.wholeWord()
      if word.epoch != state.seen.epoch || word.end < state.seen.end {
        try sidecar.checkFormat()
        if try !followFold(&state, sidecar, word), try reload(&state, ListContent.readPatiently(files.list, calls)) { return }
      } else if try readTail(&state, sidecar, to: word) {
        return
      }
    }
    throw StoreError(
      .busy, "the journal is folded faster than it can be read", place: sidecar.path.string, cure: "try again")
  }

  /// How often a fold may come between two looks before a reader gives up.
  private static var attempts: Int { 64 }

  /// Applies the records up to `word`; false when a fold came in between.
  private func readTail(
    _ state: inout EngineState, _ sidecar: Sidecar, to word: JournalWord
  ) throws(StoreError) -> Bool {
    try sidecar.withRecords(state.seen.end..<word.end) { (bytes) throws(StoreError) in
      guard try sidecar.word().epoch == word.epoch else { return false }
      apply(bytes, &state)
      // Within an epoch, what is committed is never written again.
      guard state.seen == word else { throw sidecar.torn }
      return true
    }
  }

  /// Applies the records of the epoch of `state.seen` that stand one after the other in `bytes`.
  private func apply(_ bytes: UnsafeRawBufferPointer, _ state: inout EngineState) {
    let epoch = state.seen.epoch
    var offset = 0
    while let (record, count) = Record.decode(UnsafeRawBufferPointer(rebasing: bytes[offset...]), epoch: epoch) {
      if state.unreported != nil { state.unreported?.author = author(UnsafeRawBufferPointer(rebasing: bytes[offset...])) }
      state.apply(record)
      offset += count
    }
    if state.unreported != nil { state.unreported?.author = .here }
    state.seen = state.seen.advanced(by: offset)
  }

  /// Follows a fold without reading the list, where what `state` knows and what is left of the folded records make up
  /// exactly what was written; false when they do not.
  private func followFold(_ state: inout EngineState, _ sidecar: Sidecar, _ word: JournalWord) throws(StoreError) -> Bool {
    let folded = JournalWord(rawValue: try sidecar.memory.load(.foldedFrom))
    guard folded.isWhole, folded.epoch == state.seen.epoch, state.seen != .never, state.seen.end <= folded.end else {
      return false
    }
    if state.seen != folded {
      let isComplete = try sidecar.withRecords(state.seen.end..<folded.end) { (bytes) throws(StoreError) in
        // New records overwrite the folded ones from the front; what stands further back is still there.
        let now = try sidecar.word()
        guard now.epoch == word.epoch, now.end <= state.seen.end else { return false }
        apply(bytes, &state)
        return state.seen == folded
      }
      guard isComplete else { return false }
    }
    let start = try sidecar.start(of: word)
    let list = try sidecar.list
    guard try sidecar.word().epoch == word.epoch, start <= word.end else { return false }
    state.list = list
    state.listIsSettled = true
    state.isJournalled = false
    // Who folded has seen to them.
    state.finished = []
    state.carried = []
    state.start = start
    state.seen = JournalWord(epoch: word.epoch, end: start)
    return true
  }

  /// Builds `state` anew from the list and the whole journal; false when a fold came in between.
  func reload(_ state: inout EngineState, _ content: consuming ListContent) throws(StoreError) -> Bool {
    guard let sidecar = state.sidecar else {
      state.begin(with: content)
      return true
    }
    // Read after the list: a fold between the two leaves a list that is newer than these records, and they say the same.
    let word = try sidecar.wholeWord()
    let start = try sidecar.start(of: word)
    guard start <= word.end else {
      // Only a fold that came in between explains it.
      if try sidecar.word() == word { throw sidecar.damagedHeader }
      return false
    }
    if word.epoch != state.seen.epoch, try ListFingerprint(FileStatus(at: files.list)) != content.fingerprint { return false }
    state.begin(with: content)
    state.start = start
    state.seen = JournalWord(epoch: word.epoch, end: start)
    return try readTail(&state, sidecar, to: word)
  }

  // MARK: Other programs

  /// Looks whether another program rewrote the list, or took the journal away.
  private func look(_ state: inout EngineState, _ now: UInt64) throws(StoreError) {
    state.nextLook = now + CoarseClock.lookInterval
    let mustReopen = if let sidecar = state.sidecar { try hasMoved(sidecar) } else { isReadOnly }
    if mustReopen { try reopenFromReader(&state) }
    // Given up, and the next one is not there yet, or held by whoever makes it.
    if try state.sidecar?.isRetired() ?? false { state.nextLook = 0 }
    // Without a journal to ask, every read looks whether there is one by now.
    if isReadOnly, state.sidecar == nil { state.nextLook = 0 }
    do { try rereadIfChanged(&state) } catch {
      guard case .damaged = error.kind else { throw error }
      let found = try ListFingerprint(FileStatus(at: files.list))
      guard state.suspect == found else {
        state.suspect = found  // Perhaps half written: the values known are good until the next look.
        return
      }
      state.nextLook = 0  // Every read looks, and throws, until the file changes.
      throw error
    }
  }

  /// Reads the list again if it is not the one that `state` stands on; true when it was read.
  @discardableResult
  func rereadIfChanged(_ state: inout EngineState, patiently: Bool = false) throws(StoreError) -> Bool {
    let found = try ListFingerprint(FileStatus(at: files.list))
    if found == state.list, state.listIsSettled { return false }
    for _ in 0..<Self.attempts {
      let content =
        patiently ? try ListContent.readPatiently(files.list, calls) : try ListContent.read(files.list, calls)
      if try reload(&state, content) { return true }
    }
    throw StoreError(
      .busy, "the property list is rewritten faster than it can be read", place: files.list.string, cure: "try again")
  }
}
