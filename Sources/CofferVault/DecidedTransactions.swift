package import CofferPlatform
package import CofferStorage
internal import CofferVaultFormat
internal import CofferVaultRows
internal import FoundationEssentials

/// A vault's record of decided transactions over both stores. It is unsealed and says nothing about items, so the next
/// process with the plain store's lock can settle a killed one's remains without a key.
package enum DecidedTransactions {
  /// How long ``settle(_:in:)`` waits for another writer, in milliseconds. Its caller holds the plain store's lock, for
  /// which others wait 5 s.
  private static let patience: Int32 = 1_000

  package static let lookup = DecisionLookup(
    outcome: { (transaction, place) throws(StoreError) in try outcome(of: transaction, in: VaultPlace(place)) },
    settle: { (transaction, place) throws(StoreError) in try settle(transaction, in: VaultPlace(place)) },
    forget: { (transactions, place) throws(StoreError) in try forget(transactions, in: VaultPlace(place)) })

  /// The outcome of `transaction` in the vault at `place`; nil if none is recorded. Writes nothing.
  ///
  /// - Throws: ``/CofferPlatform/StoreError`` if the vault's file cannot be read.
  package static func outcome(of transaction: TransactionID, in place: VaultPlace) throws(StoreError) -> TransactionOutcome? {
    let database = try place.rowsToRead(patience: patience)
    return try database.read { () throws(StoreError) in try database.outcomes.outcome(of: transaction) }
  }

  /// The durable outcome of `transaction` in the vault at `place`. Drops an unrecorded transaction: a written but unseen
  /// commit is overwritten, a later one refused.
  ///
  /// - Throws: ``/CofferPlatform/StoreError`` if the vault's file cannot be written; `.busy` if another process writes it
  ///   for over a second, or if 256 transactions were dropped within a minute.
  package static func settle(_ transaction: TransactionID, in place: VaultPlace) throws(StoreError) -> TransactionOutcome {
    let database = try place.rows(patience: patience)
    let now = Milliseconds.count(Date())
    guard
      let outcome = try database.write({ () throws(StoreError) in
        try database.checkWritable()
        return try database.outcomes.settle(transaction, now: now)
      })
    else {
      throw StoreError(
        .busy, "\(OutcomeTable.mostDropped) transactions were dropped within a minute, and no more can be remembered",
        place: database.place.description,
        cure: "find out what kills the programs that use this vault; a minute later there is room again")
    }
    return outcome
  }

  /// Drops the records of `transactions` that both stores hold durably. Ignores missing ids, and writes nothing for them.
  ///
  /// - Throws: ``/CofferPlatform/StoreError`` if the vault's file cannot be written.
  package static func forget(_ transactions: [TransactionID], in place: VaultPlace) throws(StoreError) {
    let database = try place.rows(patience: patience)
    let recorded = try database.read { () throws(StoreError) in
      var recorded: [TransactionID] = []
      for transaction in transactions where try database.outcomes.outcome(of: transaction) != nil { recorded.append(transaction) }
      return recorded
    }
    guard !recorded.isEmpty else { return }
    try database.write { () throws(StoreError) in
      try database.checkWritable()
      for transaction in recorded { try database.outcomes.forget(transaction) }
    }
  }
}
