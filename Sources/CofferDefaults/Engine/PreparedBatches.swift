internal import CofferPlatform
internal import CofferStorage
internal import Synchronization

/// Batches that depend on another store's decision.
struct PreparedBatches {
  let engine: DefaultsEngine

  /// Prepares `changes` durably, makes the decision, and applies them.
  ///
  /// - Throws: ``/CofferPlatform/StoreError`` `.conflict` before anything is written; the error of `decision`, when the
  ///   changes are dropped; `.pending` when the decision was made and the journal could not record it, or when nobody can
  ///   tell now whether it was made. The next process that takes the lock finishes the batch.
  func commit(
    _ changes: [Record.Change], _ cause: Record.Cause, if expectations: [String: PlainForm?], decision: Decision
  ) throws(StoreError) {
    if changes.isEmpty, !engine.isWritable { return try compare(expectations, then: decision) }
    for change in changes { if let form = change.form { try StorableForm.check(form, for: change.name) } }
    defer { if engine.state.withLock({ engine.wantsFold($0) }) { Fold(engine: engine).soon() } }
    do throws(StoreError) { try commitAlone(changes, cause, if: expectations, decision: decision) } catch {
      try engine.makeRoom(after: error)
      try commitAlone(changes, cause, if: expectations, decision: decision)
    }
    engine.idle.wrote(engine)
  }

  private func commitAlone(
    _ changes: [Record.Change], _ cause: Record.Cause, if expectations: [String: PlainForm?], decision: Decision
  ) throws(StoreError) {
    try engine.foldingAlone { (journal) throws(StoreError) in
      // Its records may overwrite an epoch that a power loss would restore.
      try journal.completeFold()
      let id = TransactionID.random()
      let effective = try engine.writable(journal, changes.map(\.name) + expectations.keys) {
        (state) throws(StoreError) -> [Record.Change] in
        try engine.effects(of: changes, if: expectations, &state)
      }
      // Either outcome changes nothing here.
      guard let effective, !effective.isEmpty else { return try engine.deciding.make(decision, nil) }
      let batch = Record.Prepared(id: id, place: decision.place, changes: effective, cause: cause)
      try prepare(batch, journal)
      // The decision cannot be undone.
      guard try !Relocation(engine: engine).hasMoved(journal) else {
        abandon(id, journal)
        throw journal.overtaken
      }
      do throws(StoreError) { try engine.deciding.make(decision, id) } catch { try judge(batch, error, journal) }
      engine.calls.reached?(.decided)
      try finish(id, journal)
    }
  }

  /// Used when nothing can be written. Holds the lock, if there is a journal to lock.
  func compare(_ expectations: [String: PlainForm?], then decision: Decision?) throws(StoreError) {
    try engine.checkProcess()
    try engine.deciding.check(engine.files.list.string)
    try engine.fresh { _ in }
    try engine.writing.withLock(busy: { engine.busy }) { (writer, _) throws(StoreError) in
      let journal = writer.journal
      try journal?.lock()
      defer { journal?.unlock() }
      if let journal { try resolve(journal) }
      try engine.state.withLock { (state) throws(StoreError) in
        try engine.refresh(&state, following: false)
        for name in expectations.keys { try state.batches.checkDecided(name, engine.files.list) }
        _ = try engine.effects(of: [], if: expectations, &state)
      }
      if let decision { try engine.deciding.make(decision, nil) }
    }
  }

  private func prepare(_ batch: Record.Prepared, _ journal: Journal) throws(StoreError) {
    try engine.state.withLock { (state) throws(StoreError) in
      // After the decision a full disk must not be in the way.
      try journal.reserve(state.seen.end + Record.prepare(batch).count + Record.commit(batch.id).count)
      try engine.append(.prepare(batch), &state, journal)
    }
    do { try journal.synchronize() } catch {
      abandon(batch.id, journal)
      throw error
    }
    engine.calls.reached?(.prepared)
  }

  /// Returns if a decision was made durably although its call failed.
  private func judge(_ batch: Record.Prepared, _ error: StoreError, _ journal: Journal) throws(StoreError) {
    guard error.kind == .outcomeUnknown else {
      abandon(batch.id, journal)
      throw error
    }
    let outcome: TransactionOutcome
    do throws(StoreError) { outcome = try decisions(on: batch).settle(batch.id, batch.place) } catch {
      throw StoreError(
        .pending(batch.id), "transaction \(batch.id) may or may not have been made", place: batch.place,
        cure: "make that place writable: the next access to the transaction's plain keys learns the outcome, all or nothing",
        underlying: error)
    }
    guard outcome == .dropped else { return }
    abandon(batch.id, journal)
    throw StoreError(
      .busy, "the transaction was not decided in time and was given up; nothing was changed", place: batch.place,
      cure: "try again", underlying: error)
  }

  /// If even this cannot be written, the next process finds no decision and drops the batch. Callers get the decision's
  /// error.
  private func abandon(_ id: TransactionID, _ journal: Journal) {
    do { try engine.state.withLock { (state) throws(StoreError) in try engine.append(.drop(id), &state, journal) } } catch {}
  }

  /// The decision's record in the other store must outlive a power loss until this is durable.
  private func finish(_ id: TransactionID, _ journal: Journal) throws(StoreError) {
    do {
      try engine.state.withLock { (state) throws(StoreError) in try engine.append(.commit(id), &state, journal) }
      engine.calls.reached?(.committed)
      try journal.synchronize()
    } catch {
      throw StoreError(
        .pending(id), "transaction \(id) was decided, but the journal could not record it", place: engine.files.list.string,
        cure: "keep the decision's record: the next write to the domain, or its next opening, completes the transaction",
        underlying: error)
    }
    engine.calls.reached?(.commitDurable)
  }

  // MARK: Outcomes left open

  /// Learns the outcome of every batch whose process died before completing it. The caller holds the file's lock.
  func resolve(_ journal: Journal) throws(StoreError) {
    let now = CoarseClock.now()
    let batches = try engine.state.withLock { (state) throws(StoreError) -> [Record.Prepared] in
      try engine.refresh(&state)
      return state.batches.toResolve(now)
    }
    for batch in batches {
      do throws(StoreError) { try resolve(batch, journal) } catch {
        engine.state.withLock { state in
          state.batches.couldNotResolve(batch.id, error, nextAttempt: CoarseClock.now() + CoarseClock.lookInterval)
        }
      }
    }
  }

  private func resolve(_ batch: Record.Prepared, _ journal: Journal) throws(StoreError) {
    let (decisions, place) = (try decisions(on: batch), batch.place)
    guard journal.isWritable else {
      // A reader records nothing. Without a record, the other store also shows its old values.
      let outcome = try decisions.outcome(batch.id, place)
      return engine.state.withLock { state in
        state.batches.learn(batch.id)
        if let outcome { state.apply(Self.record(of: outcome, batch.id)) }
      }
    }
    let outcome = try decisions.settle(batch.id, place)
    try engine.state.withLock { (state) throws(StoreError) in
      try engine.append(Self.record(of: outcome, batch.id), &state, journal)
    }
    try journal.synchronize()
    if outcome == .committed { forgetFinished([batch.id]) }
  }

  private static func record(of outcome: TransactionOutcome, _ id: TransactionID) -> Record {
    switch outcome {
    case .committed: .commit(id)
    case .dropped: .drop(id)
    }
  }

  private func decisions(on batch: Record.Prepared) throws(StoreError) -> DecisionLookup {
    if let decisions = engine.options.withLock({ $0.decisions }) { return decisions }
    throw StoreError(
      .notFound, "the domain was opened without a way to ask the store that decides", place: batch.place,
      cure: "open a router over the domain and the vault at that place")
  }

  /// Makes the deciding stores forget the batches in `ids`, or all committed ones. Their changes must be durable, or a batch
  /// would be dropped.
  ///
  /// Never throws: a remaining record reveals nothing about items, and is forgotten after a later fold.
  func forgetFinished(_ ids: Set<TransactionID>? = nil) {
    guard let decisions = engine.options.withLock({ $0.decisions }) else { return }
    let finished = engine.state.withLock { state in state.batches.finished.filter { ids?.contains($0.id) ?? true } }
    for (place, batches) in Dictionary(grouping: finished, by: \.place) {
      do throws(StoreError) { try decisions.forget(batches.map(\.id), place) } catch { continue }
      let ids = Set(batches.map(\.id))
      engine.state.withLock { state in state.batches.forget(ids) }
    }
  }

  /// If the lock is free, the process of the undecided batches has died.
  func settleAbandoned() throws(StoreError) {
    try engine.checkProcess()
    _ = try engine.foldingIfFree { () throws(StoreError) in
      try engine.writing.withLockIfAvailable { (writer) throws(StoreError) in
        guard let journal = writer.journal, try journal.tryLock() else { return }
        defer { journal.unlock() }
        // Its batches are in another journal. Settling them here would forget their outcome before that journal has it, and
        // drop them there.
        guard try !Relocation(engine: engine).hasMoved(journal) else { return engine.state.withLock { $0.nextLook = 0 } }
        try resolve(journal)
      }
    }
    let isScrubbing = engine.state.withLock { $0.values[ReservedName.scrubPending] != nil }
    if isScrubbing, engine.isWritable { Fold(engine: engine).quietly() }
  }
}
