public import CofferPlatform
public import CofferStorage
internal import Synchronization

extension DefaultsStore {
  /// Replaces the value of `name` in the domain; nil removes it. An equal value is not written.
  ///
  /// - Throws: ``/CofferPlatform/StoreError`` `.invalidName`, `.unencodable` (text that XML forbids), `.tooLarge`,
  ///   `.readOnly`, `.busy`, `.noSpace`, `.pending`, `.closed`; `.moved` once after the files in use were replaced, with the
  ///   names of the values that the new files lack. Nothing has changed then.
  public func save(_ form: PlainForm?, for name: String) throws(StoreError) {
    try check()
    let full = try checked(name)
    try engine.save(form, for: full)
  }

  /// Replaces the domain's value of `name` with the result of `body`, atomically across processes. `body` gets the domain's
  /// value, else the first suite's, else the registered one. A value that `body` leaves unchanged stays in its layer.
  ///
  /// - Throws: the errors of ``save(_:for:)`` and of `body`. Nothing has changed then.
  public func update(
    _ name: String, _ body: (PlainForm?) throws(StoreError) -> PlainForm?
  ) throws(StoreError) {
    try check()
    let full = try checked(name)
    try engine.update(full, beneath: { () throws(StoreError) in try beneath(name, full) }, body)
  }

  /// Applies all of `batch` to the domain, or nothing. Expectations are compared with the domain's own values.
  ///
  /// - Throws: the errors of ``save(_:for:)``; `.conflict`; `.unsupported` for a batch that decides a transaction; `.pending`
  ///   when `decision` was made and only its completion here failed.
  public func commit(_ batch: Batch<Plain>, decision: Decision?) throws(StoreError) {
    try check()
    guard batch.decides == nil else {
      throw StoreError(
        .unsupported, "the plain store does not decide transactions", place: place,
        cure: "let the vault decide, and pass a decision")
    }
    // The deciding store has forgotten it, and the next fold need not ask for that.
    if let transaction = batch.forgets { return engine.state.withLock { state in state.batches.forget([transaction]) } }
    var changes: [Record.Change] = []
    for (name, write) in batch.writes { changes.append((try checked(name), write.form)) }
    var expectations: [String: PlainForm?] = [:]
    for (name, stamp) in batch.expectations { expectations[prefix + name] = .some(stamp) }
    let cause: Record.Cause = batch.isMigration ? .migration : .write
    if let decision {
      try PreparedBatches(engine: engine).commit(changes, cause, if: expectations, decision: decision)
    } else {
      try engine.commit(changes, cause, if: expectations)
    }
  }

  /// Sets the lookup for transactions of dead processes, for all of this process's stores of the domain and its suites. A
  /// domain keeps its first lookup.
  public func settle(with decisions: DecisionLookup) {
    for engine in [engine] + suiteEngines { engine.settle(with: decisions) }
  }

  /// Removes, in one step, every value of the domain whose name in the file begins with ``prefix``.
  public func removeAll() throws(StoreError) {
    try check()
    try engine.removeAll(prefix: prefix)
  }

  /// Removes, in one step, every value of the domain whose name begins with ``prefix`` and then `beginning`.
  public func removeAll(beginningWith beginning: String) throws(StoreError) {
    try check()
    try engine.removeAll(prefix: prefix + beginning)
  }
}

extension DefaultsStore {
  /// Writes all acknowledged values, of any process, to the property list and the disk. Foundation and editors then see them,
  /// and they survive a power loss.
  ///
  /// - Throws: `StoreError` `.noSpace`, `.readOnly`, `.busy`, `.damaged`, `.io`, and `.moved` as ``save(_:for:)`` does.
  ///   Acknowledged values are safe even then.
  public func synchronize() throws(StoreError) {
    try check()
    if engine.isWritable { try Fold(engine: engine).synchronize() }
  }

  /// Acts as ``synchronize()``, and erases removed and replaced values from the journal and the last good copy. Use it for a
  /// value that should never have been stored in the clear. It cannot reach bytes of replaced files on the disk.
  public func scrub() throws(StoreError) {
    try check()
    try Fold(engine: engine).synchronize(scrubbing: true)
  }

  /// Writes acknowledged values to the property list. Later calls throw ``/CofferPlatform/StoreError/Kind/closed``; a second
  /// close does nothing. Other stores of the domain stay open.
  ///
  /// - Throws: the errors of ``synchronize()``. The store is closed even then, and the values are safe in the journal.
  public func close() throws(StoreError) {
    try Reentrancy.check(place)
    // Before the store counts as closed, because the call runs again.
    if engine.isWritable { try Waiting.refuse(at: engine.files.foldLock.string) }
    guard !isClosed.exchange(true, ordering: .relaxed) else { return }
    defer { engine.observation.afterTelling(engine) { [changes] in changes.end() } }
    if engine.isWritable { try Fold(engine: engine).synchronize() }
  }
}
