public import CofferPlatform
public import CofferStorage
internal import Synchronization

// Writes go to the domain, never to another layer.
extension DefaultsStore {
  /// Replaces the value of `name` in the domain; nil removes it. Nothing is written where it is equal.
  ///
  /// - Throws: ``/CofferPlatform/StoreError`` `.invalidName`, `.unencodable` (text that XML forbids), `.tooLarge`, `.readOnly`,
  ///   `.busy`, `.noSpace`, `.pending`, `.closed`; `.moved` once where other files were put in place of those in use, with the
  ///   names of values that they do not have. Nothing has changed then.
  public func save(_ form: PlainForm?, for name: String) throws(StoreError) {
    try check()
    let full = try checked(name)
    try engine.save(form, for: full)
  }

  /// Replaces the domain's value of `name` by the result of `body`, atomically across processes. `body` gets the current value
  /// without overrides: the domain's, else that of the first suite that has one, else the registered one. A value that `body`
  /// leaves unchanged stays in its layer.
  ///
  /// - Throws: the errors of ``save(_:for:)`` and of `body`; nothing has changed then.
  public func update(
    _ name: String, _ body: (PlainForm?) throws(StoreError) -> PlainForm?
  ) throws(StoreError) {
    try check()
    let full = try checked(name)
    try engine.update(full, beneath: { () throws(StoreError) in try beneath(name, full) }, body)
  }

  /// Applies all of `batch` to the domain, or nothing. Expectations are compared with the domain's own values.
  ///
  /// - Throws: what ``save(_:for:)`` throws; `.conflict`; `.unsupported` for a batch that decides a transaction, which the plain
  ///   store does not; `.pending` when `decision` was made and only its completion here failed.
  public func commit(_ batch: Batch<Plain>, decision: Decision?) throws(StoreError) {
    try check()
    guard batch.decides == nil else {
      throw StoreError(
        .unsupported, "the plain store does not decide transactions", place: place,
        cure: "let the vault decide, and pass a decision")
    }
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

  /// Notes that the store that decided `transaction` has forgotten it: the plain store keeps no record of its own, and need not
  /// see to that store's.
  public func forget(_ transaction: TransactionID) throws(StoreError) {
    engine.state.withLock { state in state.batches.forget([transaction]) }
  }

  /// Learns by `decisions` the outcomes of transactions whose processes died, in the domain and its suites, for all of this
  /// process's stores of them. The first lookup that a domain gets is kept.
  public func settle(with decisions: DecisionLookup) {
    for engine in [engine] + suiteEngines { engine.settle(with: decisions) }
  }

  /// Removes every value of the domain whose name in the file begins with this instance's ``prefix``, in one step.
  public func removeAll() throws(StoreError) {
    try check()
    try engine.removeAll(prefix: prefix)
  }

  /// Removes every value of the domain whose name begins with ``prefix`` and then `beginning`, in one step.
  public func removeAll(beginningWith beginning: String) throws(StoreError) {
    try check()
    try engine.removeAll(prefix: prefix + beginning)
  }
}

// When the files follow.
extension DefaultsStore {
  /// Writes everything that was acknowledged, by any process, into the property list and to the disk. Foundation and editors
  /// see it from then on, and a power loss loses none of it.
  ///
  /// - Throws: `StoreError` `.noSpace`, `.readOnly`, `.busy`, `.damaged`, `.io`. Acknowledged values are safe all the same.
  ///   `.moved` as ``save(_:for:)`` does.
  public func synchronize() throws(StoreError) {
    try check()
    if engine.isWritable { try Fold(engine: engine).synchronize() }
  }

  /// Like ``synchronize()``, and leaves no trace of removed or replaced values in the journal and in the last good copy: for a
  /// value that should never have been stored in the clear. Bytes of replaced files on the disk are out of reach.
  public func scrub() throws(StoreError) {
    try check()
    try Fold(engine: engine).synchronize(scrubbing: true)
  }

  /// Writes acknowledged values into the property list and ends the store's use: later calls throw
  /// ``/CofferPlatform/StoreError/Kind/closed``. Closing twice does nothing. Other stores of the same domain stay open.
  ///
  /// - Throws: the errors of ``synchronize()``; the store is closed all the same, and the values are safe in the journal.
  public func close() throws(StoreError) {
    try Reentrancy.check(place)
    guard !isClosed.exchange(true, ordering: .relaxed) else { return }
    defer { engine.observation.afterTelling(engine) { [changes] in changes.end() } }
    if engine.isWritable { try Fold(engine: engine).synchronize() }
  }
}
