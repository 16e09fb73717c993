package import CofferPlatform

extension VaultDatabase {
  package func lendHeader(_ copy: HeaderCopy, _ body: (UnsafeRawBufferPointer) throws(StoreError) -> Void) throws(StoreError) {
    try statement(copy == .first ? .header : .headerCopy).first { row throws(StoreError) in
      try body(row.blob(0, RowLimits.headerBytes))
    }
  }

  package func putHeader(_ copy: HeaderCopy, _ bytes: UnsafeRawBufferPointer) throws(StoreError) {
    try put(copy == .first ? .putHeader : .putHeaderCopy, bytes)
  }

  package func lendState(_ body: (UnsafeRawBufferPointer) throws(StoreError) -> Void) throws(StoreError) {
    try statement(.state).first { row throws(StoreError) in try body(row.blob(0, RowLimits.stateBytes)) }
  }

  package func putState(_ bytes: UnsafeRawBufferPointer) throws(StoreError) {
    try put(.putState, bytes)
    writtenState = [UInt8](bytes)
  }

  private func put(_ query: Query, _ bytes: UnsafeRawBufferPointer) throws(StoreError) {
    let statement = try statement(query)
    try statement.bind(lending: bytes, at: 1)
    try statement.execute()
  }

  package func forEachID(in table: SingleTable, _ body: (Int64) throws(StoreError) -> Void) throws(StoreError) {
    let query: Query =
      switch table {
      case .header: .headerRows
      case .headerCopy: .headerCopyRows
      case .state: .stateRows
      }
    var last = Int64.min
    try statement(query).forEach { row throws(StoreError) in
      let id = try row.int64(0)
      guard id > last else { throw row.damaged("the rows of \(table.rawValue) are not in order") }
      last = id
      try body(id)
    }
  }

  package func removeAddedRows(
    keepingLogRows kept: ClosedRange<Int64>, times: ClosedRange<Int64>, mostDropped: Int64
  ) throws(StoreError) {
    for table in SingleTable.allCases { try connection.execute("DELETE FROM \(table.rawValue) WHERE id<>\(table.id)") }
    try logRows.keepLogRows(kept)
    try connection.execute(
      "DELETE FROM decided WHERE typeof(txid)<>'blob' OR length(txid)<>\(RowLimits.transactionBytes)")
    try connection.execute(
      "DELETE FROM decided WHERE outcome<1 OR outcome>2 OR time<\(times.lowerBound) OR time>\(times.upperBound)")
    // Nobody can tell which of too many are forged.
    try connection.execute(
      "DELETE FROM decided WHERE outcome=2 AND (SELECT count(*) FROM decided WHERE outcome=2)>\(mostDropped)")
  }
}
