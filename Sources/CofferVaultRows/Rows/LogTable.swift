package import CofferPlatform
internal import CofferVaultFormat

package struct LogTable {
  let rows: any VaultRows

  private static let batch = 256

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
      // The length needs no check: the chain authenticates the bytes.
      try body(seq, box)
    }
  }

  @discardableResult
  package func withRow<Result>(_ seq: UInt64, _ body: (UnsafeRawBufferPointer) throws(StoreError) -> Result) throws(StoreError)
    -> Result?
  {
    var result: Result?
    try rows.logRows.lendLogRow(sequence(seq)) { (box) throws(StoreError) in result = try body(box) }
    return result
  }

  /// - Throws: ``/CofferPlatform/StoreError/Kind/damaged`` if row `seq` exists.
  package func append(_ box: UnsafeRawBufferPointer, seq: UInt64) throws(StoreError) {
    try rows.logRows.appendLogRow(sequence(seq), box)
  }

  package func first() throws(StoreError) -> UInt64? {
    guard let number = try rows.logRows.firstLogRow() else { return nil }
    guard let first = UInt64(exactly: number), first <= FileCounter.most else {
      throw StoreError(
        .damaged, "the log is not in order", place: rows.place.description, cure: "run verify, then restore a backup")
    }
    return first
  }

  package func put(_ box: UnsafeRawBufferPointer, seq: UInt64) throws(StoreError) {
    try rows.logRows.putLogRow(sequence(seq), box)
  }

  package func cut(from seq: UInt64) throws(StoreError) { try rows.logRows.keepLogRows(.min...(sequence(seq) - 1)) }

  package func trim(before seq: UInt64) throws(StoreError) { try rows.logRows.keepLogRows(sequence(seq) ... .max) }

  /// Returns a batch, so each row can be replaced while none is being read.
  package func rows(from sequence: UInt64) throws(StoreError) -> [(sequence: UInt64, box: [UInt8])] {
    var rows: [(UInt64, [UInt8])] = []
    try forEach(from: sequence, most: Self.batch) { (seq, box) throws(StoreError) in rows.append((seq, [UInt8](box))) }
    return rows
  }

  private func sequence(_ seq: UInt64) throws(StoreError) -> Int64 {
    guard let number = Int64(exactly: seq), seq <= FileCounter.most else {
      throw StoreError(
        .damaged, "the log's number exceeds its maximum", place: rows.place.description, cure: "restore a backup")
    }
    return number
  }
}
