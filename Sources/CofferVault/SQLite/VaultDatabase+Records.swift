internal import CCofferSQLite
internal import CofferPlatform
internal import CofferStorage

/// A record as it lies in the file, lent for the length of a call.
struct RecordColumns: ~Copyable {
  /// 16 bytes.
  let rid: UnsafeRawBufferPointer
  /// The sealed metadata with its tag.
  let meta: UnsafeRawBufferPointer
  /// The sealed value with its tag; nil when the record has none, or when it was not asked for.
  let value: UnsafeRawBufferPointer?
}

// Records, and the digests over them.
extension VaultDatabase {
  /// Bytes of an index and of a revision's id.
  static let indexBytes = 16
  /// A sealed text is a tag at least, and a row at most.
  private static let sealed = 16...Limits.rowBytes

  /// Which columns of a record are read. A value that is not asked for costs nothing: it lies on pages of its own.
  enum RecordPart {
    case metadata, all
  }

  /// Lends the record at `index` of `table` to `body`; nil when the file shows none, which is no proof that there is none.
  func withRecord<Result: ~Copyable>(
    at index: RecordIndex, in table: RecordTable = .present, _ part: RecordPart = .all,
    _ body: (borrowing RecordColumns) throws(StoreError) -> Result
  ) throws(StoreError) -> Result? {
    let statement = try statement(part == .all ? table.record : table.metadata)
    try statement.bind(index, at: 1)
    return try statement.first { row throws(StoreError) in
      let value = part == .all ? try Self.value(row, 2) : nil
      return try body(
        RecordColumns(rid: row.blob(0, count: Self.indexBytes), meta: row.blob(1, Self.sealed), value: value))
    }
  }

  /// Lends every record of `table` to `body` with its index, ascending, over all buckets.
  func forEachRecord(
    in table: RecordTable = .present,
    _ body: (_ idx: UnsafeRawBufferPointer, borrowing RecordColumns) throws(StoreError) -> Void
  ) throws(StoreError) {
    var order = IndexOrder()
    try statement(table.records).forEach { row throws(StoreError) in
      let idx = try row.blob(0, count: Self.indexBytes)
      guard order.accepts(idx) else { throw row.damaged("the records are not in order") }
      try body(
        idx,
        RecordColumns(rid: row.blob(1, count: Self.indexBytes), meta: row.blob(2, Self.sealed), value: Self.value(row, 3)))
    }
  }

  /// Lends the index and the id of each record of `bucket` to `body`, ascending. Each table has half of the buckets.
  ///
  /// Together the buckets' scans see every row, also one whose index is too short or too long to be any.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/damaged`` for an index of another length, another bucket or out of order; what `body` throws.
  func forEachIndex(
    inBucket bucket: Int,
    _ body: (_ idx: UnsafeRawBufferPointer, _ rid: UnsafeRawBufferPointer) throws(StoreError) -> Void
  ) throws(StoreError) {
    let table = RecordTable(ofBucket: bucket)
    let (first, last) = (table.buckets.lowerBound, table.buckets.upperBound - 1)
    let isLast = bucket == last
    let statement = try statement(isLast ? table.from : table.between)
    // A table's first bucket begins at the empty blob and its last has no end, so that no row lies between the buckets.
    var bounds = (Self.firstBytes(bucket - first), Self.firstBytes(bucket - first + 1))
    try withUnsafeBytes(of: &bounds) { bounds throws(StoreError) in
      try statement.bind(lending: UnsafeRawBufferPointer(rebasing: bounds[0..<(bucket == first ? 0 : 2)]), at: 1)
      if !isLast { try statement.bind(lending: UnsafeRawBufferPointer(rebasing: bounds[2..<4]), at: 2) }
      var order = IndexOrder()
      try statement.forEach { row throws(StoreError) in
        let idx = try row.blob(0, count: Self.indexBytes)
        guard order.accepts(idx), order.bits == bucket - first else { throw row.damaged("the records are not in order") }
        try body(idx, row.blob(1, count: Self.indexBytes))
      }
    }
  }

  /// Stores a record: a new one, or in place of the one with its index.
  ///
  /// - Parameter replacing: whether there is one. An UPDATE writes over a row of the same length where it lies, in one page; a
  ///   REPLACE takes the row out and puts another in, and may move its neighbors both times.
  /// - Throws: ``/CofferPlatform/StoreError/Kind/tampered`` when there was none to replace.
  func put(_ record: SealedRecord, in table: RecordTable = .present, replacing: Bool) throws(StoreError) {
    let statement = try statement(replacing ? table.replace : table.put)
    try statement.bind(record.index, at: 1)
    try statement.bind(record.id, at: 2)
    try record.meta.span.bytes.withUnsafeBytes { (meta) throws(StoreError) in
      try statement.bind(lending: meta, at: 3)
      guard let value = record.value else {
        try statement.bindNull(at: 4)
        return try statement.execute()
      }
      try value.span.bytes.withUnsafeBytes { (value) throws(StoreError) in
        try statement.bind(lending: value, at: 4)
        try statement.execute()
      }
    }
    guard sqlite3_changes(connection.handle) == 1 else {
      throw VerifiedView.tampered("a record that should exist is missing", path)
    }
  }

  /// Removes the record at `index` of `table`, if there is one.
  func deleteRecord(at index: RecordIndex, in table: RecordTable = .present) throws(StoreError) {
    let statement = try statement(table.delete)
    try statement.bind(index, at: 1)
    try statement.execute()
  }

  private static func value(_ row: borrowing Row, _ column: Int32) throws(StoreError) -> UnsafeRawBufferPointer? {
    row.isNull(column) ? nil : try row.blob(column, sealed)
  }

  /// The first two bytes of the least index whose first ten bits are `bits`: these, then zeros.
  private static func firstBytes(_ bits: Int) -> UInt16 { UInt16(truncatingIfNeeded: bits << 6).bigEndian }

  // MARK: The digests of the buckets that are not empty

  static let digestBytes = 32

  /// Lends each digest to `body` with its bucket, ascending.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/damaged`` for a bucket or a length that cannot be; what `body` throws.
  func forEachDigest(_ body: (_ bucket: Int, _ hash: UnsafeRawBufferPointer) throws(StoreError) -> Void) throws(StoreError) {
    var least: Int64 = 0
    try statement(.digests).forEach { row throws(StoreError) in
      let bucket = try row.int64(0)
      // Ascending, so that a crafted tree can neither repeat a bucket nor go on for ever.
      guard bucket >= least, bucket < DigestTree.buckets else { throw row.damaged("the digests are not in order") }
      least = bucket + 1
      try body(Int(bucket), row.blob(1, count: Self.digestBytes))
    }
  }

  /// Stores the digest of `bucket`.
  func putDigest(_ hash: UnsafeRawBufferPointer, bucket: Int) throws(StoreError) {
    let statement = try statement(.putDigest)
    try statement.bind(Int64(bucket), at: 1)
    try statement.bind(lending: hash, at: 2)
    try statement.execute()
  }

  /// Removes the digest of `bucket`, which has become empty.
  func deleteDigest(bucket: Int) throws(StoreError) {
    let statement = try statement(.deleteDigest)
    try statement.bind(Int64(bucket), at: 1)
    try statement.execute()
  }
}

/// Holds the last index of a scan, to see that the next is greater.
private struct IndexOrder {
  private var high: UInt64 = 0
  private var low: UInt64 = 0
  private var isFirst = true

  /// The first ten bits of the last index.
  var bits: Int { Int(high >> 54) }

  /// Takes the next 16 bytes; false unless they are greater than those before.
  mutating func accepts(_ idx: UnsafeRawBufferPointer) -> Bool {
    let nextHigh = UInt64(bigEndian: idx.loadUnaligned(fromByteOffset: 0, as: UInt64.self))
    let nextLow = UInt64(bigEndian: idx.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
    guard isFirst || (nextHigh, nextLow) > (high, low) else { return false }
    (high, low, isFirst) = (nextHigh, nextLow, false)
    return true
  }
}

/// The statements on each of the two tables.
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
