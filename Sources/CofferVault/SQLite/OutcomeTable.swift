internal import CofferPlatform
internal import CofferStorage

/// The outcomes of transactions over two stores. Their rows are not sealed: whoever settles one may have no key.
struct OutcomeTable {
  let database: VaultDatabase

  /// Most transactions that are remembered as dropped. More within a day are a fault to be found, and not rows to be kept; forged rows
  /// cost a commit no more than this.
  static let mostDropped: Int64 = 256
  /// How long a transaction is remembered as dropped, in milliseconds: a day. A commit that comes later is refused by the agent, which
  /// asks whether its client still waits; see ``UnlockedVault/commit(_:service:if:)``.
  static let droppedMemory: UInt64 = 24 * 3600 * 1000

  private static let transactionBytes = 16
  /// A time beyond the year 280 000 is no time.
  private static let times: ClosedRange<Int64> = 0...(1 << 53)

  /// A row of `decided`.
  private struct Entry {
    let outcome: TransactionOutcome
    let time: UInt64
  }

  /// What is recorded of `transaction`; nil where that is nothing.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/damaged`` for a row that no version wrote.
  func outcome(of transaction: TransactionID) throws(StoreError) -> TransactionOutcome? { try entry(of: transaction)?.outcome }

  /// Records that `transaction` is committed, within the write transaction that makes its changes. Saying it twice is no error.
  ///
  /// - Parameter now: milliseconds since 1970.
  /// - Throws: ``/CofferPlatform/StoreError/Kind/givenUp`` when it was dropped: whoever asks now comes too late.
  func commit(_ transaction: TransactionID, now: UInt64) throws(StoreError) {
    switch try outcome(of: transaction) {
    case .committed: return
    case .dropped:
      throw StoreError(
        .givenUp, "transaction \(transaction) was given up before it came here, and nothing of it was made",
        place: database.connection.place, cure: "run the transaction again")
    case nil:
      try expire(now)
      try put(.committed, transaction, now)
    }
  }

  /// What is recorded of `transaction`, which is dropped where that is nothing. Within a write transaction, to which this always adds a
  /// change: what was found may be written and not be durable, as its writer died before the sync, and the commit makes it so.
  ///
  /// - Parameter now: milliseconds since 1970.
  /// - Returns: nil when as many transactions are remembered as dropped as can be. That is no error within the transaction: the days that
  ///   are counted from now on must be committed, or there would never be room.
  func settle(_ transaction: TransactionID, now: UInt64) throws(StoreError) -> TransactionOutcome? {
    try expire(now)
    if let found = try entry(of: transaction) {
      try put(found.outcome, transaction, found.time == now ? now + 1 : now)
      return found.outcome
    }
    let dropped = try database.statement(.droppedOutcomes).first { row throws(StoreError) in try row.int64(0) } ?? 0
    guard dropped < Self.mostDropped else { return nil }
    try put(.dropped, transaction, now)
    return .dropped
  }

  /// Drops what is recorded of `transaction`, if there is anything.
  func forget(_ transaction: TransactionID) throws(StoreError) {
    let statement = try database.statement(.forget)
    try statement.bind(copying: transaction.bytes.span.bytes, at: 1)
    try statement.execute()
  }

  /// Looks at every row.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/damaged`` for one that no version wrote, or for more dropped transactions than are remembered.
  func check() throws(StoreError) {
    var dropped: Int64 = 0
    try database.statement(.outcomes).forEach { row throws(StoreError) in
      _ = try row.blob(0, count: Self.transactionBytes)
      if try Self.entry(row, 1).outcome == .dropped { dropped += 1 }
      guard dropped <= Self.mostDropped else { throw row.damaged("more transactions are dropped than are ever remembered") }
    }
  }

  /// Removes the rows that ``check()`` finds, within a transaction. Where more are dropped than are ever remembered, nobody can tell
  /// which of them are forged, and all of them go.
  func removeForged() throws(StoreError) {
    try database.connection.execute("DELETE FROM decided WHERE typeof(txid)<>'blob' OR length(txid)<>\(Self.transactionBytes)")
    try database.connection.execute("DELETE FROM decided WHERE outcome<1 OR outcome>2 OR time<0 OR time>\(Self.times.upperBound)")
    try database.connection.execute(
      "DELETE FROM decided WHERE outcome=2 AND (SELECT count(*) FROM decided WHERE outcome=2)>\(Self.mostDropped)")
  }

  /// Forgets what was dropped long ago, along with a commit that is made in any case. A time that has yet to come was written by a clock
  /// that was wrong: a day is counted from now on.
  private func expire(_ now: UInt64) throws(StoreError) {
    for (query, time) in [(Query.expireOutcomes, now - min(now, Self.droppedMemory)), (.redateOutcomes, now + 1)] {
      let statement = try database.statement(query)
      try statement.bind(Int64(clamping: time), at: 1)
      try statement.execute()
    }
  }

  private func entry(of transaction: TransactionID) throws(StoreError) -> Entry? {
    let statement = try database.statement(.outcome)
    try statement.bind(copying: transaction.bytes.span.bytes, at: 1)
    return try statement.first { row throws(StoreError) in try Self.entry(row, 0) }
  }

  private static func entry(_ row: borrowing Row, _ first: Int32) throws(StoreError) -> Entry {
    let time = try row.int64(first + 1)
    guard let outcome = try TransactionOutcome(stored: row.int64(first)), times.contains(time) else {
      throw row.damaged("the record of a transaction says what no version writes")
    }
    return Entry(outcome: outcome, time: UInt64(time))
  }

  private func put(_ outcome: TransactionOutcome, _ transaction: TransactionID, _ time: UInt64) throws(StoreError) {
    let statement = try database.statement(.putOutcome)
    try statement.bind(copying: transaction.bytes.span.bytes, at: 1)
    try statement.bind(outcome.stored, at: 2)
    try statement.bind(Int64(clamping: time), at: 3)
    try statement.execute()
  }
}

extension TransactionOutcome {
  /// The number in the file.
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
