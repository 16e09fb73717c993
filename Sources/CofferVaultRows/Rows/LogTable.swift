package import CofferPlatform
internal import CofferStorage
internal import CofferVaultFormat

/// The rows of the log.
package struct LogTable {
  let rows: any VaultRows

  /// Rows that are read at a time, where each is to be replaced.
  private static let batch = 256

  /// Lends the rows of the log from `first` on to `body`, ascending.
  package func forEach(
    from first: UInt64, most: Int? = nil,
    _ body: (_ seq: UInt64, _ box: UnsafeRawBufferPointer) throws(StoreError) -> Void
  ) throws(StoreError) {
    var least = first
    try rows.logRows.forEachLogRow(from: sequence(first), most: most) { (number, box) throws(StoreError) in
      guard let seq = UInt64(exactly: number), seq >= least, seq <= FileCounter.most else {
        throw StoredParts.tampered("the log has a row of a number that no row has", rows.place)
      }
      least = seq + 1
      // Whatever length it has: the chain speaks for its bytes.
      try body(seq, box)
    }
  }

  /// Lends row `seq` of the log to `body`, if there is one.
  @discardableResult
  package func withRow<Result>(_ seq: UInt64, _ body: (UnsafeRawBufferPointer) throws(StoreError) -> Result) throws(StoreError)
    -> Result?
  {
    var result: Result?
    try rows.logRows.lendLogRow(sequence(seq)) { (box) throws(StoreError) in result = try body(box) }
    return result
  }

  /// Adds row `seq` to the log.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/damaged`` when there is one already.
  package func append(_ box: UnsafeRawBufferPointer, seq: UInt64) throws(StoreError) {
    try rows.logRows.appendLogRow(sequence(seq), box)
  }

  /// The number of the first row that is left; nil when there is none.
  package func first() throws(StoreError) -> UInt64? {
    guard let number = try rows.logRows.firstLogRow() else { return nil }
    guard let first = UInt64(exactly: number), first <= FileCounter.most else {
      throw StoreError(
        .damaged, "the log is not in order", place: rows.place.description, cure: "run verify, then restore a backup")
    }
    return first
  }

  /// Stores row `seq` in place of the current one.
  package func put(_ box: UnsafeRawBufferPointer, seq: UInt64) throws(StoreError) {
    try rows.logRows.putLogRow(sequence(seq), box)
  }

  /// Removes the rows of the log from `seq` on.
  package func cut(from seq: UInt64) throws(StoreError) { try rows.logRows.keepLogRows(.min...(sequence(seq) - 1)) }

  /// Removes the rows of the log before `seq`.
  package func trim(before seq: UInt64) throws(StoreError) { try rows.logRows.keepLogRows(sequence(seq) ... .max) }

  /// The first rows of the log from `sequence` on, some at a time, so that each can be replaced when none is being read.
  package func rows(from sequence: UInt64) throws(StoreError) -> [(sequence: UInt64, box: [UInt8])] {
    var rows: [(UInt64, [UInt8])] = []
    try forEach(from: sequence, most: Self.batch) { (seq, box) throws(StoreError) in rows.append((seq, [UInt8](box))) }
    return rows
  }

  private func sequence(_ seq: UInt64) throws(StoreError) -> Int64 {
    guard let number = Int64(exactly: seq), seq <= FileCounter.most else {
      throw StoreError(
        .damaged, "the log's number is beyond what can be", place: rows.place.description, cure: "restore a backup")
    }
    return number
  }
}
