package import CofferPlatform
package import CofferStorage

/// Outcomes of transactions over two stores. Not sealed, because a program without the key may settle one.
package struct OutcomeTable {
  let rows: any VaultRows

  /// The maximum number to remember, which bounds the cost of forged rows to a commit.
  package static let mostDropped: Int64 = 256
  /// A day in milliseconds. The agent refuses a later commit, once it has checked that its client still waits; see
  /// ``UnlockedVault/commit(_:service:if:)``.
  static let droppedMemory: UInt64 = 24 * 3600 * 1000
  /// The minimum, used for too many, as from a program that crashes repeatedly. No commit without an agent comes this late:
  /// its process is dead, and a server ends its statement after seconds.
  static let leastMemory: UInt64 = 60 * 1000

  static let times: ClosedRange<Int64> = 0...(1 << 53)

  private struct Entry {
    let outcome: TransactionOutcome
    let time: UInt64
  }

  /// Nil if none is recorded.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/damaged`` for a row that Coffer cannot have written.
  package func outcome(of transaction: TransactionID) throws(StoreError) -> TransactionOutcome? {
    try entry(of: transaction)?.outcome
  }

  /// Within the write transaction that makes the changes. A repetition is no error.
  ///
  /// - Parameter now: milliseconds since 1970.
  /// - Throws: ``/CofferPlatform/StoreError/Kind/givenUp`` if it was dropped before.
  package func commit(_ transaction: TransactionID, now: UInt64) throws(StoreError) {
    switch try outcome(of: transaction) {
    case .committed: return
    case .dropped:
      throw StoreError(
        .givenUp, "transaction \(transaction) was given up before it arrived; nothing of it was made",
        place: rows.place.description, cure: "run the transaction again")
    case nil:
      try expire(now)
      try put(.committed, transaction, now)
    }
  }

  /// Drops the transaction if no outcome is recorded. Always adds a change: the writer of the found outcome may have died
  /// before the sync, and this commit makes it durable.
  ///
  /// - Parameter now: milliseconds since 1970.
  /// - Returns: nil if too many transactions were dropped within a minute. The transaction must still commit, because the
  ///   recorded times make room later.
  package func settle(_ transaction: TransactionID, now: UInt64) throws(StoreError) -> TransactionOutcome? {
    try expire(now)
    if let found = try entry(of: transaction) {
      try put(found.outcome, transaction, found.time == now ? now + 1 : now)
      return found.outcome
    }
    func isFull() throws(StoreError) -> Bool {
      try rows.outcomeRows.countOutcomes(TransactionOutcome.dropped.stored) >= Self.mostDropped
    }
    if try isFull() { try expire(now, after: Self.leastMemory) }
    guard try !isFull() else { return nil }
    try put(.dropped, transaction, now)
    return .dropped
  }

  package func forget(_ transaction: TransactionID) throws(StoreError) {
    try Self.lending(transaction) { (bytes) throws(StoreError) in try rows.outcomeRows.deleteOutcome(of: bytes) }
  }

  /// - Throws: ``/CofferPlatform/StoreError/Kind/damaged`` for an invalid row, or too many dropped transactions.
  package func check() throws(StoreError) {
    var dropped: Int64 = 0
    try rows.outcomeRows.forEachOutcome { (_, columns) throws(StoreError) in
      if try entry(columns).outcome == .dropped { dropped += 1 }
      guard dropped <= Self.mostDropped else { throw damaged("more transactions are dropped than are ever remembered") }
    }
  }

  /// A time in the future came from a wrong clock and becomes the current one.
  private func expire(_ now: UInt64, after memory: UInt64 = droppedMemory) throws(StoreError) {
    try rows.outcomeRows.expireOutcomes(
      TransactionOutcome.dropped.stored, before: Int64(clamping: now - min(now, memory)), after: Int64(clamping: now + 1))
  }

  private func entry(of transaction: TransactionID) throws(StoreError) -> Entry? {
    let columns = try Self.lending(transaction) { (bytes) throws(StoreError) in try rows.outcomeRows.outcome(of: bytes) }
    return try columns.map(entry)
  }

  private func entry(_ columns: OutcomeColumns) throws(StoreError) -> Entry {
    guard let outcome = TransactionOutcome(stored: columns.outcome), Self.times.contains(columns.time) else {
      throw damaged("the record of a transaction has unknown content")
    }
    return Entry(outcome: outcome, time: UInt64(columns.time))
  }

  private func put(_ outcome: TransactionOutcome, _ transaction: TransactionID, _ time: UInt64) throws(StoreError) {
    try Self.lending(transaction) { (bytes) throws(StoreError) in
      try rows.outcomeRows.putOutcome(OutcomeColumns(outcome: outcome.stored, time: Int64(clamping: time)), of: bytes)
    }
  }

  private static func lending<Result>(
    _ transaction: TransactionID, _ body: (UnsafeRawBufferPointer) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    try transaction.bytes.span.bytes.withUnsafeBytes(body)
  }

  private func damaged(_ what: String) -> StoreError {
    StoreError(.damaged, what, place: rows.place.description, cure: "run verify, then restore a backup")
  }
}

extension TransactionOutcome {
  fileprivate var stored: Int64 {
    switch self {
    case .committed: 1
    case .dropped: 2
    }
  }

  fileprivate init?(stored: Int64) {
    switch stored {
    case 1: self = .committed
    case 2: self = .dropped
    default: return nil
    }
  }
}
