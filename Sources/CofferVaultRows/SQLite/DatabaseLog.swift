internal import CofferPlatform

struct DatabaseLog: LogRows {
  let database: VaultDatabase

  func forEachLogRow(
    from first: Int64, most: Int?, _ body: (_ seq: Int64, _ box: UnsafeRawBufferPointer) throws(StoreError) -> Void
  ) throws(StoreError) {
    let statement = try database.statement(most == nil ? .logRows : .logBatch)
    try statement.bind(first, at: 1)
    if let most { try statement.bind(Int64(most), at: 2) }
    try statement.forEach { row throws(StoreError) in try body(row.int64(0), row.blob(1)) }
  }

  func lendLogRow(_ seq: Int64, _ body: (UnsafeRawBufferPointer) throws(StoreError) -> Void) throws(StoreError) {
    let statement = try database.statement(.logRow)
    try statement.bind(seq, at: 1)
    try statement.first { row throws(StoreError) in try body(row.blob(0)) }
  }

  func firstLogRow() throws(StoreError) -> Int64? {
    try database.statement(.logStart).first { row throws(StoreError) in row.isNull(0) ? nil : try row.int64(0) } ?? nil
  }

  func appendLogRow(_ seq: Int64, _ box: UnsafeRawBufferPointer) throws(StoreError) { try put(.appendLog, seq, box) }

  func putLogRow(_ seq: Int64, _ box: UnsafeRawBufferPointer) throws(StoreError) { try put(.putLog, seq, box) }

  private func put(_ query: Query, _ seq: Int64, _ box: UnsafeRawBufferPointer) throws(StoreError) {
    let statement = try database.statement(query)
    try statement.bind(seq, at: 1)
    try statement.bind(lending: box, at: 2)
    try statement.execute()
  }

  func keepLogRows(_ kept: ClosedRange<Int64>) throws(StoreError) {
    for (query, seq) in [(Query.trimLog, kept.lowerBound), (.cutLog, kept.upperBound)] {
      let statement = try database.statement(query)
      try statement.bind(seq, at: 1)
      try statement.execute()
    }
  }
}

struct DatabaseOutcomes: OutcomeRows {
  let database: VaultDatabase

  func outcome(of transaction: UnsafeRawBufferPointer) throws(StoreError) -> OutcomeColumns? {
    let statement = try database.statement(.outcome)
    try statement.bind(lending: transaction, at: 1)
    return try statement.first { row throws(StoreError) in try OutcomeColumns(outcome: row.int64(0), time: row.int64(1)) }
  }

  func putOutcome(_ outcome: OutcomeColumns, of transaction: UnsafeRawBufferPointer) throws(StoreError) {
    let statement = try database.statement(.putOutcome)
    try statement.bind(lending: transaction, at: 1)
    try statement.bind(outcome.outcome, at: 2)
    try statement.bind(outcome.time, at: 3)
    try statement.execute()
  }

  func deleteOutcome(of transaction: UnsafeRawBufferPointer) throws(StoreError) {
    let statement = try database.statement(.forget)
    try statement.bind(lending: transaction, at: 1)
    try statement.execute()
  }

  func forEachOutcome(_ body: (UnsafeRawBufferPointer, OutcomeColumns) throws(StoreError) -> Void) throws(StoreError) {
    var order = IndexOrder()
    try database.statement(.outcomes).forEach { row throws(StoreError) in
      let transaction = try row.blob(0, count: RowLimits.transactionBytes)
      guard order.accepts(transaction) else { throw row.damaged("the outcomes of transactions are not in order") }
      try body(transaction, OutcomeColumns(outcome: row.int64(1), time: row.int64(2)))
    }
  }

  func countOutcomes(_ outcome: Int64) throws(StoreError) -> Int64 {
    let statement = try database.statement(.droppedOutcomes)
    try statement.bind(outcome, at: 1)
    return try statement.first { row throws(StoreError) in try row.int64(0) } ?? 0
  }

  func expireOutcomes(_ outcome: Int64, before time: Int64, after limit: Int64) throws(StoreError) {
    for (query, time) in [(Query.expireOutcomes, time), (.redateOutcomes, limit)] {
      let statement = try database.statement(query)
      try statement.bind(outcome, at: 1)
      try statement.bind(time, at: 2)
      try statement.execute()
    }
  }
}
