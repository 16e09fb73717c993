internal import CofferPlatform
internal import CofferStorage

/// The rows of the log.
struct LogTable {
  let database: VaultDatabase

  /// Lends the rows of the log from `first` on to `body`, ascending.
  func forEach(
    _ query: Query = .logRows, from first: UInt64,
    _ body: (_ seq: UInt64, _ box: UnsafeRawBufferPointer) throws(StoreError) -> Void
  ) throws(StoreError) {
    let statement = try database.statement(query)
    try statement.bind(sequence(first), at: 1)
    var least = first
    try statement.forEach { row throws(StoreError) in
      guard let seq = UInt64(exactly: try row.int64(0)), seq >= least, seq <= FileCounter.most else {
        throw VerifiedView.tampered("the log has a row of a number that no row has", database.path)
      }
      least = seq + 1
      // Whatever length it has: the chain speaks for its bytes.
      try body(seq, row.blob(1))
    }
  }

  /// Lends row `seq` of the log to `body`, if there is one.
  @discardableResult
  func withRow<Result>(_ seq: UInt64, _ body: (UnsafeRawBufferPointer) throws(StoreError) -> Result) throws(StoreError) -> Result?
  {
    let statement = try database.statement(.logRow)
    try statement.bind(sequence(seq), at: 1)
    return try statement.first { row throws(StoreError) in try body(row.blob(0)) }
  }

  /// Adds row `seq` to the log.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/damaged`` when there is one already.
  func append(_ box: UnsafeRawBufferPointer, seq: UInt64) throws(StoreError) {
    let statement = try database.statement(.appendLog)
    try statement.bind(sequence(seq), at: 1)
    try statement.bind(lending: box, at: 2)
    try statement.execute()
  }

  /// The number of the first row that is left; nil when there is none.
  func first() throws(StoreError) -> UInt64? {
    let first = try database.statement(.logStart).first { row throws(StoreError) -> UInt64? in
      guard !row.isNull(0) else { return nil }
      guard let first = UInt64(exactly: try row.int64(0)), first <= FileCounter.most else {
        throw row.damaged("the log is not in order")
      }
      return first
    }
    return first ?? nil
  }

  /// Stores row `seq` in place of what is there.
  func put(_ box: UnsafeRawBufferPointer, seq: UInt64) throws(StoreError) {
    let statement = try database.statement(.putLog)
    try statement.bind(sequence(seq), at: 1)
    try statement.bind(lending: box, at: 2)
    try statement.execute()
  }

  /// Removes the rows of the log from `seq` on.
  func cut(from seq: UInt64) throws(StoreError) {
    let statement = try database.statement(.cutLog)
    try statement.bind(sequence(seq), at: 1)
    try statement.execute()
  }

  /// Removes the rows of the log before `seq`.
  func trim(before seq: UInt64) throws(StoreError) {
    let statement = try database.statement(.trimLog)
    try statement.bind(sequence(seq), at: 1)
    try statement.execute()
  }

  /// The first rows of the log from `sequence` on, some at a time, so that each can be replaced when none is being read.
  func rows(from sequence: UInt64) throws(StoreError) -> [(sequence: UInt64, box: [UInt8])] {
    var rows: [(UInt64, [UInt8])] = []
    try forEach(.logBatch, from: sequence) { (seq, box) throws(StoreError) in rows.append((seq, [UInt8](box))) }
    return rows
  }

  private func sequence(_ seq: UInt64) throws(StoreError) -> Int64 {
    guard let number = Int64(exactly: seq), seq <= FileCounter.most else {
      throw StoreError(
        .damaged, "the log's number is beyond what can be", place: database.connection.place, cure: "restore a backup")
    }
    return number
  }
}
