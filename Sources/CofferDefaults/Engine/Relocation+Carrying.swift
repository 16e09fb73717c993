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
    engine.location.withLock { $0 = files }
    var there = EngineState()
    there.journal = new
    try Replay(engine: engine).catchUp(&there, new)
    let carried = try there.carried + new.memory.carried
    // It was carried over, and then given a name again, perhaps by others elsewhere. What they have written there is theirs.
    if try old.memory.identity != old.knownIdentity, carried.contains(old.knownIdentity) { return }
    let records = try missing(names, of: old, state, in: new, there, carried: carried, isBegun: use == .beingCarried)
    try old.memory.mark(.beingCarried)
    engine.calls.reached?(.carrying)
    if !records.isEmpty { try engine.append(records, &there, new) }
    // As durable as it was: batches, and values of those that were committed, are it before any fold.
    try new.synchronize()
    engine.calls.reached?(.carried)
    try old.memory.mark(.carried)
    // A reader's process may write nothing more that would bring the list up to date.
    if !records.isEmpty { engine.idle.wrote(engine) }
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
  ///   - carried: the journals that were carried over into `new`.
  ///   - isBegun: whether somebody has begun to carry them over, and died.
  private func missing(
    _ names: [String: UInt64], of old: Journal, _ state: borrowing EngineState, in new: Journal, _ there: borrowing EngineState,
    carried: [UInt64], isBegun: Bool
  ) throws(StoreError) -> [Record] {
    let identity = try old.memory.identity
    var records: [Record] = []
    // The new journal says whether he who died had written these values. If he had, what stands there is his work, or newer.
    if !carried.contains(identity) {
      // If he had not, somebody else may have begun to write.
      let newer = isBegun ? try new.changedNames(there.start..<there.seen.end, epoch: there.seen.epoch) : [:]
      // A value that `old` has from a journal that `new` has too is there, or was replaced by a newer one.
      let changed = names.filter {
        newer[$0.key] == nil && there.values[$0.key] != state.values[$0.key] && !carried.contains($0.value)
      }
      let changes = Dictionary(grouping: changed.keys) { changed[$0, default: 0] }.mapValues { names in
        names.map { ($0, state.values[$0]) }
      }
      // What was carried over into the old one is in the new one by that too: whoever has such a journal open finds the new one alone.
      var others: [UInt64] = []
      for other in try old.memory.carried + state.carried + changes.keys where other != 0 && !(carried + others).contains(other) {
        others.append(other)
      }
      records = (others + [identity]).flatMap { [.write(changes[$0 == identity ? 0 : $0, default: []]), .carried($0)] }
    }
    // One that the new journal has completed must not be prepared again: the vault may still remember it as committed, and its old
    // values would then take the place of newer ones.
    let known = Set(there.batches.prepared.map(\.id) + there.batches.finished.map(\.id))
    records += state.batches.prepared.filter { !known.contains($0.id) }.map(Record.prepare)
    // The changes of these were carried as values; the names go along, so that they are forgotten after a fold.
    return records + state.batches.finishedRecords(except: known)
  }

  /// The names that the records of `journal` change; see ``Journal/changedNames(_:epoch:)``.
  private func journalledNames(_ state: borrowing EngineState, _ journal: Journal) -> [String: UInt64] {
    guard state.isJournalled else { return [:] }
    do { return try journal.changedNames(state.start..<state.seen.end, epoch: state.seen.epoch) } catch {
      return state.values.mapValues { _ in 0 }  // Not to be known any more: nothing that was acknowledged may be missed.
    }
  }
}
