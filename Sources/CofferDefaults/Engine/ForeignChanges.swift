internal import CofferPlatform
internal import CofferStorage
internal import SystemPackage

/// Looks for what programs did to the files that know nothing of the journal's lock.
struct ForeignChanges {
  let engine: DefaultsEngine

  /// Looks whether another program rewrote the list, or took the journal away.
  func look(_ state: inout EngineState, _ now: UInt64) throws(StoreError) {
    state.nextLook = now + CoarseClock.lookInterval
    let mustReopen =
      if let journal = state.journal { try Relocation(engine: engine).hasMoved(journal) } else { engine.isReadOnly }
    if mustReopen { try Relocation(engine: engine).reopenFromReader(&state) }
    // Given up, and the next one is not there yet, or held by whoever makes it.
    if try state.journal?.memory.isRetired() ?? false { state.nextLook = 0 }
    // Without a journal to ask, every read looks whether there is one by now.
    if engine.isReadOnly, state.journal == nil { state.nextLook = 0 }
    do { try rereadIfChanged(&state) } catch {
      guard case .damaged = error.kind else { throw error }
      let found = try ListFingerprint(FileStatus(at: engine.files.list))
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
    let found = try ListFingerprint(FileStatus(at: engine.files.list))
    if found == state.list, state.listIsSettled { return false }
    for _ in 0..<Replay.attempts {
      let content =
        patiently
        ? try ListContent.readPatiently(engine.files.list, engine.calls) : try ListContent.read(engine.files.list, engine.calls)
      if try Replay(engine: engine).reload(&state, content) { return true }
    }
    throw StoreError(
      .busy, "the property list is rewritten faster than it can be read", place: engine.files.list.string, cure: "try again")
  }
}
