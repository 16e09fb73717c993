internal import CofferPlatform
internal import CofferStorage
internal import Synchronization
internal import SystemPackage

// What a journal holds that lost its name is written into the one that took its place.
extension Relocation {
  /// Writes what `old` holds and the list does not into `new`, once for all processes. The caller holds the locks of both.
  func carry(_ old: Journal, to new: Journal, in files: ListFiles, _ state: inout EngineState) throws(StoreError) {
    let use = try catchUp(&state, old)
    guard use == .current || use == .beingCarried else { return }
    let names = journalledNames(state, old)
    let oldList = engine.files.list
    engine.location.withLock { $0 = files }
    var there = EngineState()
    there.journal = new
    try Replay(engine: engine).catchUp(&there, new)
    let carried = try there.carried + new.memory.carried
    // It was carried over, and then given a name again, perhaps by others elsewhere. What they have written there is theirs.
    if try old.memory.identity != old.knownIdentity, carried.contains(old.knownIdentity) { return }
    let identity = try new.memory.identity
    let begin = use == .beingCarried ? try old.memory.carriedBehind(in: identity) : nil
    let records = try missing(names, of: old, state, in: new, &there, carried: carried, begunBehind: begin)
    if begin == nil { try old.memory.beginCarrying(into: identity, behind: there.seen) }
    engine.calls.reached?(.carrying)
    if !records.isEmpty { try engine.append(records, &there, new) }
    // A reader's process may write nothing more that would bring the list up to date.
    if there.isJournalled { engine.idle.wrote(engine) }
    // As durable as it was: batches, and values of those that were committed, are it before any fold.
    try new.synchronize()
    engine.calls.reached?(.carried)
    try old.memory.store(ListFingerprint(FileStatus(at: oldList)))
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
      guard error.place == old.path.string else { throw error }
      switch error.kind {
      case .damaged, .newerFormat: break
      default: throw error
      }
    }
    return use
  }

  /// What `old` holds and `new` does not.
  ///
  /// - Parameters:
  ///   - names: the names that the records of `old` change, each with the journal that its value was carried over from.
  ///   - there: what `new` says, and with that what these records say of batches.
  ///   - carried: the journals that were carried over into `new`.
  ///   - begin: the word of `new` when somebody began to carry them over, and died or failed.
  private func missing(
    _ names: [String: UInt64], of old: Journal, _ state: borrowing EngineState, in new: Journal, _ there: inout EngineState,
    carried: [UInt64], begunBehind begin: JournalWord?
  ) throws(StoreError) -> [Record] {
    // What one has completed and the other one has not, as a journal that was put back. Values that are newer than it come behind it.
    let completed = Set(state.batches.finished.map(\.id))
    var records = there.batches.prepared.filter { completed.contains($0.id) }.map { Record.commit($0.id) }
    for record in records { there.apply(record) }
    // The new journal says whether he who died had written these values. If he had, what stands there is his work, or newer.
    if try !carried.contains(old.memory.identity) {
      records += try values(names, of: old, state, in: new, there, carried: carried, begunBehind: begin)
    }
    // One that the new journal has completed must not be prepared again: the vault may still remember it as committed, and its old
    // values would then take the place of newer ones.
    let known = Set(there.batches.prepared.map(\.id) + there.batches.finished.map(\.id))
    records += state.batches.prepared.filter { !known.contains($0.id) }.map(Record.prepare)
    // The changes of these were carried as values; the names go along, so that they are forgotten after a fold.
    return records + state.batches.finishedRecords(except: known)
  }

  /// The values among them, each `write` with the journal that they come from behind it.
  private func values(
    _ names: [String: UInt64], of old: Journal, _ state: borrowing EngineState, in new: Journal, _ there: borrowing EngineState,
    carried: [UInt64], begunBehind begin: JournalWord?
  ) throws(StoreError) -> [Record] {
    let identity = try old.memory.identity
    var newer: [String: UInt64] = [:]
    if let begin {
      // Somebody else may have begun to write meanwhile. Of an epoch that began since, all is newer.
      let first = begin.epoch == there.seen.epoch ? begin.end : 0
      newer = try new.changedNames(there.start..<there.seen.end, epoch: there.seen.epoch, from: first)
    }
    var changes: [UInt64: [Record.Change]] = [:]
    // Also what changes nothing here: that a value was removed has to be said to a journal that still has it and is put back.
    for (name, found) in names where newer[name] == nil {
      // A copy of the file has the same identity.
      let origin = found == 0 ? identity : found
      // A value from a journal that `new` has too is there, or was replaced by a newer one.
      if !carried.contains(origin) { changes[origin, default: []].append((name, state.values[name])) }
    }
    // What was carried over into the old one is in the new one by that too: whoever has such a journal open finds the new one alone.
    var origins: [UInt64] = []
    for origin in try old.memory.carried + state.carried + changes.keys
    where origin != 0 && origin != identity && !(carried + origins).contains(origin) {
      origins.append(origin)
    }
    return (origins + [identity]).flatMap { [.write(changes[$0, default: []]), .carried($0)] }
  }

  /// The names that the records of `journal` change; see ``Journal/changedNames(_:epoch:)``.
  private func journalledNames(_ state: borrowing EngineState, _ journal: Journal) -> [String: UInt64] {
    guard state.isJournalled else { return [:] }
    do { return try journal.changedNames(state.start..<state.seen.end, epoch: state.seen.epoch) } catch {
      return state.values.mapValues { _ in 0 }  // Not to be known any more: nothing that was acknowledged may be missed.
    }
  }
}
