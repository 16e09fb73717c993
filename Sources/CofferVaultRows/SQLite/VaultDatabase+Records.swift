internal import CCofferSQLite
package import CofferPlatform
package import CofferVaultFormat

extension VaultDatabase {
  package func lendRecord(
    at index: UnsafeRawBufferPointer, in table: RecordTable, _ part: RecordPart,
    _ body: (borrowing RecordColumns) throws(StoreError) -> Void
  ) throws(StoreError) {
    let statement = try statement(part == .all ? table.record : table.metadata)
    try statement.bind(lending: index, at: 1)
    try statement.first { row throws(StoreError) in
      let value = part == .all ? try value(row, 2) : nil
      try body(
        RecordColumns(
          rid: row.blob(0, count: RowLimits.indexBytes), meta: row.blob(1, RowLimits.sealedBytes), value: value))
    }
  }

  package func forEachRecord(
    in table: RecordTable,
    _ body: (_ idx: UnsafeRawBufferPointer, borrowing RecordColumns) throws(StoreError) -> Void
  ) throws(StoreError) {
    var order = IndexOrder()
    try statement(table.records).forEach { row throws(StoreError) in
      let idx = try row.blob(0, count: RowLimits.indexBytes)
      guard order.accepts(idx) else { throw row.damaged("the records are not in order") }
      try body(
        idx,
        RecordColumns(
          rid: row.blob(1, count: RowLimits.indexBytes), meta: row.blob(2, RowLimits.sealedBytes), value: value(row, 3)))
    }
  }

  /// - Throws: ``/CofferPlatform/StoreError/Kind/damaged`` for an index of another length, of another bucket or out of
  ///   order; the errors of `body`.
  package func forEachIndex(
    inBucket bucket: Int,
    _ body: (_ idx: UnsafeRawBufferPointer, _ rid: UnsafeRawBufferPointer) throws(StoreError) -> Void
  ) throws(StoreError) {
    let table = RecordTable(ofBucket: bucket)
    let (first, last) = (table.buckets.lowerBound, table.buckets.upperBound - 1)
    let isLast = bucket == last
    let statement = try statement(isLast ? table.from : table.between)
    // A table's first bucket begins at the empty blob and its last has no end, so no row lies between the buckets.
    var bounds = (firstBytes(bucket - first), firstBytes(bucket - first + 1))
    try withUnsafeBytes(of: &bounds) { bounds throws(StoreError) in
      try statement.bind(lending: UnsafeRawBufferPointer(rebasing: bounds[0..<(bucket == first ? 0 : 2)]), at: 1)
      if !isLast { try statement.bind(lending: UnsafeRawBufferPointer(rebasing: bounds[2..<4]), at: 2) }
      var order = IndexOrder()
      try statement.forEach { row throws(StoreError) in
        let idx = try row.blob(0, count: RowLimits.indexBytes)
        guard order.accepts(idx), order.bits == bucket - first else { throw row.damaged("the records are not in order") }
        try body(idx, row.blob(1, count: RowLimits.indexBytes))
      }
    }
  }

  /// An UPDATE overwrites a row of equal length in place. A REPLACE may move neighboring rows twice.
  package func putRecord(
    at index: UnsafeRawBufferPointer, in table: RecordTable, _ record: borrowing RecordColumns, over standing: RecordPlace
  ) throws(StoreError) {
    if case .moved(let former) = standing { try deleteRecord(at: former, in: table) }
    let isTaken = if case .taken = standing { true } else { false }
    let statement = try statement(isTaken ? table.replace : table.put)
    try statement.bind(lending: index, at: 1)
    try statement.bind(lending: record.rid, at: 2)
    try statement.bind(lending: record.meta, at: 3)
    if let value = record.value { try statement.bind(lending: value, at: 4) } else { try statement.bindNull(at: 4) }
    try statement.execute()
    guard sqlite3_changes(connection.handle) == 1 else {
      throw StoredParts.tampered("a record that should exist is missing", place)
    }
  }

  package func deleteRecord(at index: UnsafeRawBufferPointer, in table: RecordTable) throws(StoreError) {
    let statement = try statement(table.delete)
    try statement.bind(lending: index, at: 1)
    try statement.execute()
  }

  // MARK: The digests of the buckets that are not empty

  /// - Throws: ``/CofferPlatform/StoreError/Kind/damaged`` for an invalid bucket or length; the errors of `body`.
  package func forEachDigest(
    in buckets: [Int]?, _ body: (_ bucket: Int, _ hash: UnsafeRawBufferPointer) throws(StoreError) -> Void
  ) throws(StoreError) {
    let wanted = buckets.map { Set($0) }
    var least: Int64 = 0
    try statement(.digests).forEach { row throws(StoreError) in
      let bucket = try row.int64(0)
      // Ascending, so a crafted tree can neither repeat a bucket nor be endless.
      guard bucket >= least, bucket < DigestTree.buckets else { throw row.damaged("the digests are not in order") }
      least = bucket + 1
      if wanted?.contains(Int(bucket)) ?? true { try body(Int(bucket), row.blob(1, count: RowLimits.digestBytes)) }
    }
  }

  package func putDigest(_ hash: UnsafeRawBufferPointer, bucket: Int) throws(StoreError) {
    let statement = try statement(.putDigest)
    try statement.bind(Int64(bucket), at: 1)
    try statement.bind(lending: hash, at: 2)
    try statement.execute()
  }

  package func deleteDigest(bucket: Int) throws(StoreError) {
    let statement = try statement(.deleteDigest)
    try statement.bind(Int64(bucket), at: 1)
    try statement.execute()
  }
}

package struct IndexOrder {
  private var high: UInt64 = 0
  private var low: UInt64 = 0
  private var isFirst = true

  package init() {}

  var bits: Int { Int(high >> 54) }

  /// - Returns: false unless the next 16 bytes are greater than the previous ones.
  mutating func accepts(_ idx: UnsafeRawBufferPointer) -> Bool {
    let nextHigh = UInt64(bigEndian: idx.loadUnaligned(fromByteOffset: 0, as: UInt64.self))
    let nextLow = UInt64(bigEndian: idx.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
    guard isFirst || (nextHigh, nextLow) > (high, low) else { return false }
    (high, low, isFirst) = (nextHigh, nextLow, false)
    return true
  }
}

extension RecordTable {
  fileprivate var record: Query { self == .present ? .record : .oldRecord }
  fileprivate var metadata: Query { self == .present ? .recordMetadata : .oldMetadata }
  fileprivate var between: Query { self == .present ? .recordsBetween : .oldBetween }
  fileprivate var from: Query { self == .present ? .recordsFrom : .oldFrom }
  fileprivate var records: Query { self == .present ? .records : .oldRecords }
  fileprivate var put: Query { self == .present ? .putRecord : .putOld }
  fileprivate var replace: Query { self == .present ? .replaceRecord : .replaceOld }
  fileprivate var delete: Query { self == .present ? .deleteRecord : .deleteOld }
}

private func value(_ row: borrowing Row, _ column: Int32) throws(StoreError) -> UnsafeRawBufferPointer? {
  row.isNull(column) ? nil : try row.blob(column, RowLimits.sealedBytes)
}

private func firstBytes(_ bits: Int) -> UInt16 { UInt16(truncatingIfNeeded: bits << 6).bigEndian }
