public import CofferPlatform

extension StorageRouter {
  /// How often a transaction runs before it gives up: a conflict means that someone else got through, so that many in a row
  /// mean a key too busy for this, and `update` is the right call.
  static let attempts = 16

  /// Writes to both stores happen together or not at all, also across a crash, and only if nothing that was read has changed.
  ///
  /// `body` runs first, without any lock, and its writes are kept back. When something it read has changed by then it runs
  /// again, so it must have no effects but its writes. It is not asynchronous: nothing waits on a network under a lock. A write through
  /// the router inside it throws ``/CofferPlatform/StoreError/Kind/reentrant``: that would be no part of the transaction.
  ///
  /// - Returns: what `body` returns.
  /// - Throws: ``/CofferPlatform/StoreError/Kind/busy`` after 16 runs; what `body` throws, unchanged, with nothing written;
  ///   ``/CofferPlatform/StoreError/Kind/pending(_:)`` when the transaction's outcome is not known yet, or the plain store has yet to finish it: its
  ///   plain keys throw the same until the outcome is learnt, and then all of it was made, or nothing;
  ///   ``/CofferPlatform/StoreError/Kind/outcomeUnknown`` when only the vault was written, and whether it was is not known; what the stores throw, with
  ///   nothing written.
  public func transaction<Value>(_ body: (Transaction) throws -> Value) throws -> Value {
    try checkNoTransaction()
    return try retryingConflicts { () throws(StoreError) in
      let transaction = Transaction(on: self)
      let outcome = Result { try Reentrancy.insideTransaction(of: id) { try body(transaction) } }
      transaction.end()
      switch outcome {
      case .success: try commit(transaction.plain.batch, transaction.vault.batch)
      case .failure: try checkReads(of: transaction)
      }
      return outcome
    }.get()
  }

  /// Throws ``/CofferPlatform/StoreError/Kind/reentrant`` inside a closure of ``transaction(_:)``.
  @usableFromInline
  func checkNoTransaction() throws(StoreError) { try Reentrancy.checkTransaction(id, plain.place) }

  /// Runs `attempt` until it throws something else than a conflict.
  func retryingConflicts<Value>(_ attempt: () throws(StoreError) -> Value) throws(StoreError) -> Value {
    for _ in 0..<Self.attempts {
      do { return try attempt() } catch { guard error.kind == .conflict else { throw error } }
    }
    throw StoreError(
      .busy, "what was read changed \(Self.attempts) times before it could be used", place: plain.place,
      cure: "try again, or change a single hot key with update(_:)")
  }

  /// Throws a conflict when the closure failed on values that were stale: its complaint is then about nothing that ever was.
  private func checkReads(of transaction: Transaction) throws(StoreError) {
    transaction.plain.writes = [:]
    transaction.vault.writes = [:]
    do { try commit(transaction.plain.batch, transaction.vault.batch) } catch {
      // Any other failure must not stand in front of the closure's own.
      if error.kind == .conflict { throw error }
    }
  }

  func commit(_ plainBatch: Batch<Plain>, _ vaultBatch: Batch<Vault>) throws(StoreError) {
    switch (plainBatch.isEmpty, vaultBatch.isEmpty) {
    case (true, true): return
    case (false, true): try plain.commit(plainBatch, decision: nil)
    case (true, false): try vault.commit(vaultBatch, decision: nil)
    case (false, false): try commitBoth(plainBatch, vaultBatch)
    }
  }

  /// The plain store prepares, the vault decides. Locks are taken in this order everywhere, so that no two wait for each other.
  private func commitBoth(_ plainBatch: Batch<Plain>, _ vaultBatch: Batch<Vault>) throws(StoreError) {
    // With writes on one side only there is nothing that could come apart, and no outcome to record.
    let isDivisible = !plainBatch.writes.isEmpty && !vaultBatch.writes.isEmpty
    var decided: TransactionID?
    var isMade = false
    let decision = Decision(place: vault.place) { [vault] (id) throws(StoreError) in
      var batch = vaultBatch
      batch.decides = isDivisible ? id : nil
      try vault.commit(batch, decision: nil)
      decided = batch.decides
      isMade = true
    }
    do throws(StoreError) { try plain.commit(plainBatch, decision: decision) } catch {
      if isMade && plainBatch.writes.isEmpty { return }  // The vault has all of it; only the lock was wanted here.
      guard let decided else { throw error }
      throw StoreError(
        .pending(decided), "the vault has its part; the plain store has yet to take its own", place: plain.place,
        cure: "make that place writable: the transaction takes effect at the next access", underlying: error)
    }
    guard let decided else { return }
    // Everything is done. A record that cannot be dropped now says nothing of items, and the plain store's next fold drops it.
    do throws(StoreError) {
      try vault.forget(decided)
      try plain.forget(decided)
    } catch {}
  }
}

extension Batch {
  var isEmpty: Bool { expectations.isEmpty && writes.isEmpty }
}
