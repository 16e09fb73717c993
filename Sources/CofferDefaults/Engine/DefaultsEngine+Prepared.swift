internal import CofferStorage
internal import Synchronization
internal import SystemPackage

// Batches that depend on a decision made in another store.
extension DefaultsEngine {
  /// Makes `changes` durable as prepared, makes the decision, and lets them take effect.
  ///
  /// - Throws: ``StoreError`` `.conflict` before anything is written; what `decision` throws, when the changes are dropped;
  ///   `.pending` when the decision was made and the journal could not be told: whoever takes the lock next will see to it.
  func commit(
    _ changes: [Record.Change], _ cause: Record.Cause, if expectations: [String: PlainForm?], decision: Decision
  ) throws(StoreError) {
    if changes.isEmpty, !isWritable { return try compare(expectations, then: decision) }
    for change in changes { if let form = change.form { try StorableForm.check(form, for: change.name) } }
    try holdingLock { (sidecar) throws(StoreError) in
      let id = TransactionID.random()
      let effective = try writable(sidecar, changes.map(\.name)) { (state) throws(StoreError) -> [Record.Change] in
        try effects(of: changes, if: expectations, &state)
      }
      // Nothing to do here whatever the outcome, so nobody need ever ask for it.
      guard !effective.isEmpty else { return try make(decision, id) }
      try prepare(.init(id: id, place: decision.place, changes: effective, cause: cause), sidecar)
      do throws(StoreError) { try make(decision, id) } catch {
        abandon(id, sidecar)
        throw error
      }
      calls.reached?(.decided)
      try finish(id, sidecar)
      if state.withLock({ wantsFold($0) }) { foldQuietly(sidecar) }
    }
    idle.wrote(self)
  }

  /// Compares and decides where nothing can be written: under the lock, if there is a journal to lock.
  func compare(_ expectations: [String: PlainForm?], then decision: Decision?) throws(StoreError) {
    try checkProcess()
    try checkDecider()
    try writing.withLock { (writer) throws(StoreError) in
      let sidecar = writer.sidecar
      try sidecar?.lock()
      defer { sidecar?.unlock() }
      if let sidecar { try resolve(sidecar) }
      try state.withLock { (state) throws(StoreError) in
        try refresh(&state)
        _ = try effects(of: [], if: expectations, &state)
      }
      if let decision { try make(decision, .random()) }
    }
  }

  private func prepare(_ batch: Record.Prepared, _ sidecar: Sidecar) throws(StoreError) {
    try state.withLock { (state) throws(StoreError) in
      // Room for the outcome is taken first: once the decision is made, a full disk must not stand in the way.
      try sidecar.reserve(state.seen.end + Record.prepare(batch).count + Record.commit(batch.id).count)
      try append(.prepare(batch), &state, sidecar)
    }
    do { try sidecar.synchronize() } catch {
      abandon(batch.id, sidecar)
      throw error
    }
    calls.reached?(.prepared)
  }

  /// The decision was not made. If even this cannot be written, the next process finds no decision and drops the batch: what the
  /// caller has to know is why the decision failed.
  private func abandon(_ id: TransactionID, _ sidecar: Sidecar) {
    do { try state.withLock { (state) throws(StoreError) in try append(.drop(id), &state, sidecar) } } catch {}
  }

  /// The decision was made. Its record in the other store must outlive a power loss until this is durable.
  private func finish(_ id: TransactionID, _ sidecar: Sidecar) throws(StoreError) {
    do {
      try state.withLock { (state) throws(StoreError) in try append(.commit(id), &state, sidecar) }
      calls.reached?(.committed)
      try sidecar.synchronize()
    } catch {
      throw StoreError(
        .pending(id), "transaction \(id) was decided, but the journal could not be told", place: files.list.string,
        cure: "keep the decision's record: the next write to the domain, or its next opening, completes the transaction",
        underlying: error)
    }
    calls.reached?(.commitDurable)
  }

  // MARK: Outcomes left open

  /// Learns the outcome of every batch that its process did not live to complete. The caller holds the file's lock.
  func resolve(_ sidecar: Sidecar) throws(StoreError) {
    let now = CoarseClock.now()
    let batches = try state.withLock { (state) throws(StoreError) -> [Record.Prepared] in
      try refresh(&state)
      // What could not be learnt just now is not asked for by every write that follows.
      return state.prepared.filter { state.unresolvable[$0.id] == nil || now >= state.nextResolution }
    }
    for batch in batches {
      do {
        let isDecided = try outcome(of: batch)
        try settle(batch, isDecided, sidecar)
      } catch {
        state.withLock { state in
          state.unresolvable[batch.id] = error
          state.nextResolution = now + CoarseClock.lookInterval
        }
      }
    }
  }

  private func outcome(of batch: Record.Prepared) throws(StoreError) -> Bool {
    guard let decisions = options.withLock({ $0.decisions }) else {
      throw StoreError(
        .notFound, "the domain was opened without a way to ask the store that decided", place: batch.place,
        cure: "open it together with that store")
    }
    return try decisions.contains(batch.id, FilePath(batch.place))
  }

  private func settle(_ batch: Record.Prepared, _ isDecided: Bool, _ sidecar: Sidecar) throws(StoreError) {
    let record = isDecided ? Record.commit(batch.id) : .drop(batch.id)
    try state.withLock { (state) throws(StoreError) in
      if sidecar.isWritable { try append(record, &state, sidecar) } else { state.apply(record) }
    }
    guard sidecar.isWritable else { return }
    try sidecar.synchronize()
    guard isDecided, let decisions = options.withLock({ $0.decisions }) else { return }
    // A record that stays is 16 bytes of litter; the transaction itself is complete.
    do { try decisions.forget(batch.id, FilePath(batch.place)) } catch {}
  }

  /// Called by readers that met undecided names: settles them if the lock is free, for their process has died then.
  func settleAbandoned() throws(StoreError) {
    try checkProcess()
    _ = try writing.withLockIfAvailable { (writer) throws(StoreError) in
      guard let sidecar = writer.sidecar, try sidecar.tryLock() else { return }
      defer { sidecar.unlock() }
      try resolve(sidecar)
    }
  }
}
