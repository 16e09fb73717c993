internal import CofferPlatform
internal import CofferStorage
internal import Synchronization
internal import SystemPackage

// Batches that depend on a decision made in another store.
extension DefaultsEngine {
  /// Makes `changes` durable as prepared, makes the decision, and lets them take effect.
  ///
  /// - Throws: ``/CofferPlatform/StoreError`` `.conflict` before anything is written; what `decision` throws, when the changes are dropped;
  ///   `.pending` when the decision was made and the journal could not be told, or when nobody can say now whether it was made: whoever
  ///   takes the lock next will see to it.
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
      guard !effective.isEmpty else { return try make(decision, nil) }
      let batch = Record.Prepared(id: id, place: decision.place, changes: effective, cause: cause)
      try prepare(batch, sidecar)
      do throws(StoreError) { try make(decision, id) } catch { try judge(batch, error, sidecar) }
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
      if let decision { try make(decision, nil) }
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

  /// Returns where a decision whose call failed was made all the same, durably, and otherwise throws what the caller has to know.
  private func judge(_ batch: Record.Prepared, _ error: StoreError, _ sidecar: Sidecar) throws(StoreError) {
    guard error.kind == .outcomeUnknown else {
      abandon(batch.id, sidecar)
      throw error
    }
    let outcome: TransactionOutcome
    do throws(StoreError) { outcome = try decisions(on: batch).settle(batch.id, FilePath(batch.place)) } catch {
      throw StoreError(
        .pending(batch.id), "whether transaction \(batch.id) was made is not known yet", place: batch.place,
        cure: "make that place writable: the next access to the transaction's plain keys learns the outcome, all or nothing",
        underlying: error)
    }
    guard outcome == .dropped else { return }
    abandon(batch.id, sidecar)
    throw StoreError(
      .busy, "the transaction's decision was not made in time, and is given up: nothing was changed", place: batch.place,
      cure: "try again", underlying: error)
  }

  /// The decision was not made, and will not be. If even this cannot be written, the next process finds no decision and drops the batch:
  /// what the caller has to know is why the decision failed.
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
      do throws(StoreError) { try resolve(batch, sidecar) } catch {
        state.withLock { state in
          // Where the journal was told and only its sync failed, there is nothing left to learn.
          guard state.prepared.contains(where: { $0.id == batch.id }) else { return }
          state.unresolvable[batch.id] = error
          state.nextResolution = CoarseClock.now() + CoarseClock.lookInterval
        }
      }
    }
  }

  private func resolve(_ batch: Record.Prepared, _ sidecar: Sidecar) throws(StoreError) {
    let (decisions, place) = (try decisions(on: batch), FilePath(batch.place))
    guard sidecar.isWritable else {
      // Who only reads records nothing. Where nothing is recorded, the other store shows its old values too.
      let outcome = try decisions.outcome(batch.id, place)
      return state.withLock { state in
        state.unresolvable[batch.id] = nil
        if let outcome { state.apply(Self.record(of: outcome, batch.id)) }
      }
    }
    let outcome = try decisions.settle(batch.id, place)
    try state.withLock { (state) throws(StoreError) in try append(Self.record(of: outcome, batch.id), &state, sidecar) }
    try sidecar.synchronize()
    if outcome == .committed { forgetFinished([batch.id]) }
  }

  private static func record(of outcome: TransactionOutcome, _ id: TransactionID) -> Record {
    switch outcome {
    case .committed: .commit(id)
    case .dropped: .drop(id)
    }
  }

  private func decisions(on batch: Record.Prepared) throws(StoreError) -> DecisionLookup {
    if let decisions = options.withLock({ $0.decisions }) { return decisions }
    throw StoreError(
      .notFound, "the domain was opened without a way to ask the store that decides", place: batch.place,
      cure: "open it together with that store")
  }

  /// Has the stores that decided forget the batches that the journal says were committed, or those in `ids`. The batches' changes
  /// are durable, in the list or, those in `ids`, in the journal: a store that forgot too early would leave a batch to be dropped.
  ///
  /// Never an error: what is not forgotten now says nothing of items, and is forgotten after a later fold.
  func forgetFinished(_ ids: Set<TransactionID>? = nil) {
    guard let decisions = options.withLock({ $0.decisions }) else { return }
    let finished = state.withLock { state in state.finished.filter { ids?.contains($0.id) ?? true } }
    for (place, batches) in Dictionary(grouping: finished, by: \.place) {
      do throws(StoreError) { try decisions.forget(batches.map(\.id), FilePath(place)) } catch { continue }
      let ids = Set(batches.map(\.id))
      state.withLock { state in state.finished.removeAll { ids.contains($0.id) } }
    }
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
