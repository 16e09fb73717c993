internal import CofferPlatform
internal import CofferVaultFormat
internal import CofferVaultRows

enum RecordQuery {
  /// The number of questions for records on their way at once: at the beginning of a scan, and at most. In between, the size
  /// of the last batch decides, for this number of bytes in all.
  static let (firstWindow, mostWindow, bytesOfWindow) = (4, 64, 8 << 20)
  /// List entries per question: 2 MiB.
  static let listBatch = 65_536
  /// Larger values are requested separately, so that a batch has at most 20 MiB with the longest descriptions.
  static let mostAhead = 8192

  static func askForList(
    _ schema: String, bucketWith index: [UInt8], _ connection: PostgresConnection, _ deadline: ContinuousClock.Instant
  ) throws(StoreError) {
    try askForList(schema, IndexOrder.bits(index), .present, connection, deadline)
  }

  /// The first bucket begins at the empty index and the last has no end: no row lies outside.
  static func askForList(
    _ schema: String, _ bits: Int, _ table: RecordTable, _ connection: PostgresConnection, _ deadline: ContinuousClock.Instant
  ) throws(StoreError) {
    let bounds = [bits, bits + 1].flatMap { [UInt8(truncatingIfNeeded: $0 >> 2), UInt8(truncatingIfNeeded: $0 << 6)] }
    try bounds.span.bytes.withUnsafeBytes { (all) throws(StoreError) in
      let first = PostgresConnection.Parameter.bytes(UnsafeRawBufferPointer(rebasing: all[0..<(bits == 0 ? 0 : 2)]))
      let isLast = bits == table.buckets.count - 1
      let columns = "SELECT \(idx), \(rid) FROM \(schema).\(table.name) WHERE idx >= $1"
      let order = "ORDER BY idx LIMIT \(listBatch + 1)"
      if isLast { return try connection.ask("\(columns) \(order)", [first], until: deadline) }
      try connection.ask(
        "\(columns) AND idx < $2 \(order)", [first, .bytes(UnsafeRawBufferPointer(rebasing: all[2..<4]))], until: deadline)
    }
  }

  static func record(_ schema: String, _ table: RecordTable, _ part: RecordPart) -> String {
    "SELECT \(rid), \(meta)\(part == .all ? ", \(value)" : "") FROM \(schema).\(table.name) WHERE idx = $1 LIMIT 1"
  }

  static let idx = PostgresSchema.cut("idx", RowLimits.indexBytes), rid = PostgresSchema.cut("rid", RowLimits.indexBytes)
  static let meta = PostgresSchema.cut("meta", RowLimits.metaBytes), value = PostgresSchema.cut("value", RowLimits.rowBytes)

  /// The state and the present record, if any, at one moment.
  static func recordWithState(_ schema: String) -> String {
    """
    SELECT \(SingleTable.state.bytes), \(rid), \(meta), \(value)
      FROM \(schema).state s LEFT JOIN \(schema).\(RecordTable.present.name) r ON r.idx = $1 WHERE s.id = 1 LIMIT 2
    """
  }

  static let typesOfBatch = [
    PostgresResult.bytea, PostgresResult.bytea, PostgresResult.bytea, PostgresResult.bytea, PostgresResult.bigint,
  ]

  static func types(_ part: RecordPart, after columns: Int32 = 0) -> [UInt32] {
    [UInt32](repeating: PostgresResult.bytea, count: Int(columns) + (part == .all ? 3 : 2))
  }
}

extension RecordTable {
  var name: String { self == .present ? "rec" : "old" }
}
