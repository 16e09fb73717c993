internal import CofferPlatform
internal import CofferVault

// Records. One by one they would cost a round trip each: where it was said which are asked for next, they come some hundred at a time.
extension PostgresRows {
  private var reader: RecordReader { RecordReader(rows: self) }

  func expect(_ rows: ExpectedRows) throws(StoreError) {
    switch rows {
    case .lists(let table):
      // Before the transaction is reached for: the lists are asked for in it.
      let lists = try reader.scannedLists(table)
      transaction?.lists[table] = lists
    case .records(let table, let part):
      try reader.endScan()
      transaction?.records = RecordScan(table: table, part: part)
    case .item(let index, let needsList, let log):
      announced = PostgresTransaction.Beginning(index: index, needsList: needsList, log: (Int64(clamping: log.first), log.most))
    case .single: try reader.endScan()
    }
  }

  // MARK: One record

  func lendRecord(
    at index: UnsafeRawBufferPointer, in table: RecordTable, _ part: RecordPart,
    _ body: (borrowing RecordColumns) throws(StoreError) -> Void
  ) throws(StoreError) {
    if let ahead = transaction?.ahead, table == .present, ahead.index.elementsEqual(index) {
      return try reader.lend(ahead, part, body)
    }
    if let scan = transaction?.records, scan.table == table, part == .metadata || scan.part == .all {
      if let found = try reader.scanned(index) { return try body(found.columns(part)) }
    }
    let answer = try asked(RecordQuery.record(schema, table, part), [.bytes(index)], RecordQuery.types(part))
    try reader.lend(answer, part, body)
  }

  // MARK: All of them

  func forEachRecord(
    in table: RecordTable, _ body: (_ index: UnsafeRawBufferPointer, borrowing RecordColumns) throws(StoreError) -> Void
  ) throws(StoreError) {
    var (from, last) = ([UInt8](), [UInt8]?.none)
    while true {
      let answer = try from.span.bytes.withUnsafeBytes { (from) throws(StoreError) in try reader.batch(table, .all, from: from) }
      for row in 0..<answer.count {
        let index = try answer.bytes(row, 0, RowLimits.indexBytes...RowLimits.indexBytes)
        let key = [UInt8](index)
        guard last.map({ $0.lexicographicallyPrecedes(key) }) ?? true else { throw damaged("the records are not in order") }
        last = key
        let found = try ScannedRecord(answer, row, .all).checked()
        if found.isWhole {
          try body(index, found.columns(.all))
        } else {
          let whole = try asked(RecordQuery.record(schema, table, .all), [.bytes(index)], RecordQuery.types(.all))
          try reader.lend(whole, .all) { (columns) throws(StoreError) in try body(index, columns) }
        }
      }
      guard answer.count == RecordQuery.batch, let last else { return }
      from = last + [0]
    }
  }

  func forEachIndex(
    inBucket bucket: Int, _ body: (_ index: UnsafeRawBufferPointer, _ id: UnsafeRawBufferPointer) throws(StoreError) -> Void
  ) throws(StoreError) {
    let table = RecordTable(ofBucket: bucket)
    if let lists = transaction?.lists[table], let entries = lists.entries(of: bucket) {
      for entry in entries { try lists.lend(entry, body) }
      return
    }
    let transaction = try current()
    try RecordQuery.askForList(schema, bucket - table.buckets.lowerBound, table, transaction.connection, session.deadline)
    let list = try ListScan(transaction.lastAnswer(), bucket: bucket, place)
    for entry in list.entries(of: bucket) ?? 0..<0 { try list.lend(entry, body) }
  }

  // MARK: Changes

  func putRecord(
    at index: UnsafeRawBufferPointer, in table: RecordTable, _ record: borrowing RecordColumns, over standing: RecordPlace
  ) throws(StoreError) {
    reader.forgetAhead(table)
    let value = record.value.map { PostgresConnection.Parameter.bytes($0) } ?? .null
    let parameters: [PostgresConnection.Parameter] = [.bytes(index), .bytes(record.rid), .bytes(record.meta), value]
    let name = "\(schema).\(table.name)"
    switch standing {
    case .free:
      try queue(
        """
        INSERT INTO \(name) (idx, rid, meta, value) VALUES ($1, $2, $3, $4)
          ON CONFLICT (idx) DO UPDATE SET rid = excluded.rid, meta = excluded.meta, value = excluded.value
        """, parameters, changesOne: true)
    case .taken:
      try queue("UPDATE \(name) SET rid = $2, meta = $3, value = $4 WHERE idx = $1", parameters, changesOne: true)
    case .moved(let former):
      try queue(
        "UPDATE \(name) SET idx = $1, rid = $2, meta = $3, value = $4 WHERE idx = $5", parameters + [.bytes(former)],
        changesOne: true)
    }
  }

  func deleteRecord(at index: UnsafeRawBufferPointer, in table: RecordTable) throws(StoreError) {
    reader.forgetAhead(table)
    try queue("DELETE FROM \(schema).\(table.name) WHERE idx = $1", [.bytes(index)])
  }

}

/// Asks for records and lists, within the transaction of the rows.
struct RecordReader {
  let rows: PostgresRows

  /// Lends the record that `answer` is about, whose columns begin with `first`.
  func lend(
    _ answer: PostgresResult, first: Int32 = 0, _ part: RecordPart, _ body: (borrowing RecordColumns) throws(StoreError) -> Void
  ) throws(StoreError) {
    guard answer.count > 0 else { return }
    let value = part == .all && !answer.isNull(0, first + 2) ? try answer.bytes(0, first + 2, RowLimits.sealedBytes) : nil
    try body(
      RecordColumns(
        rid: answer.bytes(0, first, RowLimits.indexBytes...RowLimits.indexBytes),
        meta: answer.bytes(0, first + 1, RowLimits.sealedBytes), value: value))
  }

  /// Lends the record that came along.
  func lend(
    _ ahead: RecordAhead, _ part: RecordPart, _ body: (borrowing RecordColumns) throws(StoreError) -> Void
  ) throws(StoreError) {
    try ahead.rows.check(RecordQuery.types(.all, after: ahead.first))
    // Beside a state stands no record as three columns without anything.
    guard ahead.rows.count > 0, ahead.first == 0 || !ahead.rows.isNull(0, ahead.first) else { return }
    try lend(ahead.rows, first: ahead.first, part, body)
  }

  /// Takes records that were asked for and that nobody wants any more.
  func endScan() throws(StoreError) {
    if rows.transaction?.records?.isAsked ?? false { _ = try rows.current().lastAnswer() }
    rows.transaction?.records = nil
  }

  /// The record at `index` out of those that come with others; nil where it is not among them, or its value is too long for that.
  func scanned(_ index: UnsafeRawBufferPointer) throws(StoreError) -> ScannedRecord? {
    guard index.count == RowLimits.indexBytes else { return nil }
    // Behind one that was asked for ahead may come one from `index` on. A server that has no end of them is not followed.
    for _ in 0..<3 {
      guard var scan = rows.transaction?.records else { return nil }
      let (found, isBehind) = try scan.record(at: index)
      rows.transaction?.records = scan
      if let found { return found.isWhole ? found : nil }
      guard isBehind else { return nil }
      try askForMore(from: index)
    }
    return nil
  }

  /// Has the next records come, and asks for those behind them: the server finds these while the former are looked at.
  private func askForMore(from index: UnsafeRawBufferPointer) throws(StoreError) {
    guard let scan = rows.transaction?.records else { return }
    if scan.isAsked {
      _ = try rows.current().lastAnswer()
    } else if scan.next == nil {
      try ask(scan.table, scan.part, from: index)
      rows.transaction?.records?.isAsked = true
      _ = try rows.current().lastAnswer()
    }
    guard let next = rows.transaction?.records?.turnToNext() else { return }
    try next.check(RecordQuery.typesOfBatch)
    guard next.count == RecordQuery.batch else { return }
    let last = [UInt8](try next.bytes(next.count - 1, 0)) + [0]
    try last.span.bytes.withUnsafeBytes { (last) throws(StoreError) in try ask(scan.table, scan.part, from: last) }
    try rows.current().connection.send(until: rows.session.deadline)
    rows.transaction?.records?.isAsked = true
  }

  /// The records from `index` on. A long value is left out, and its length stands in the last column.
  func batch(
    _ table: RecordTable, _ part: RecordPart, from index: UnsafeRawBufferPointer
  ) throws(StoreError) -> PostgresResult {
    try ask(table, part, from: index)
    let answer = try rows.current().lastAnswer()
    try answer.check(RecordQuery.typesOfBatch)
    return answer
  }

  private func ask(_ table: RecordTable, _ part: RecordPart, from index: UnsafeRawBufferPointer) throws(StoreError) {
    let value =
      part == .all
      ? "CASE WHEN octet_length(value) <= \(RecordQuery.mostAhead) THEN value END, coalesce(octet_length(value), -1)::bigint"
      : "NULL::bytea, (-1)::bigint"
    try rows.current().connection.ask(
      "SELECT idx, rid, meta, \(value) FROM \(rows.schema).\(table.name) WHERE idx >= $1 ORDER BY idx LIMIT \(RecordQuery.batch)",
      [.bytes(index)], until: rows.session.deadline)
  }

  func scannedLists(_ table: RecordTable) throws(StoreError) -> ListScan {
    var scan = ListScan(table, rows.place)
    var from: [UInt8] = []
    while true {
      let answer = try from.span.bytes.withUnsafeBytes { (from) throws(StoreError) in
        try rows.asked(
          "SELECT idx, rid FROM \(rows.schema).\(table.name) WHERE idx >= $1 ORDER BY idx LIMIT \(RecordQuery.listBatch)",
          [.bytes(from)],
          [PostgresResult.bytea, PostgresResult.bytea])
      }
      try scan.append(answer)
      guard answer.count == RecordQuery.listBatch, let last = scan.last else { return scan }
      from = last + [0]
    }
  }

  /// What came along is of before the change.
  func forgetAhead(_ table: RecordTable) {
    rows.transaction?.lists[table] = nil
    if table == .present { rows.transaction?.ahead = nil }
  }
}

/// What is asked of the tables of records.
enum RecordQuery {
  /// Records that are asked for at once.
  static let batch = 256
  /// Entries of lists that are asked for at once: 2 MiB.
  static let listBatch = 65_536
  /// A value of more bytes is asked for by itself, so that a batch has 16 MiB at most.
  static let mostAhead = 65_536

  /// Asks for the list of the bucket that `index` is in.
  static func askForList(
    _ schema: String, bucketWith index: [UInt8], _ connection: PostgresConnection, _ deadline: ContinuousClock.Instant
  ) throws(StoreError) {
    try askForList(schema, ListScan.bits(index), .present, connection, deadline)
  }

  /// A table's first bucket begins at the empty index and its last has no end, so that no row lies between the buckets.
  static func askForList(
    _ schema: String, _ bits: Int, _ table: RecordTable, _ connection: PostgresConnection, _ deadline: ContinuousClock.Instant
  ) throws(StoreError) {
    let bounds = [bits, bits + 1].flatMap { [UInt8(truncatingIfNeeded: $0 >> 2), UInt8(truncatingIfNeeded: $0 << 6)] }
    try bounds.span.bytes.withUnsafeBytes { (all) throws(StoreError) in
      let first = PostgresConnection.Parameter.bytes(UnsafeRawBufferPointer(rebasing: all[0..<(bits == 0 ? 0 : 2)]))
      let isLast = bits == table.buckets.count - 1
      let columns = "SELECT idx, rid FROM \(schema).\(table.name) WHERE idx >= $1"
      if isLast { return try connection.ask("\(columns) ORDER BY idx", [first], until: deadline) }
      try connection.ask(
        "\(columns) AND idx < $2 ORDER BY idx", [first, .bytes(UnsafeRawBufferPointer(rebasing: all[2..<4]))], until: deadline)
    }
  }

  static func record(_ schema: String, _ table: RecordTable, _ part: RecordPart) -> String {
    "SELECT rid, meta\(part == .all ? ", value" : "") FROM \(schema).\(table.name) WHERE idx = $1"
  }

  /// The state and the present record at an index, if there is one, as they are at one moment.
  static func recordWithState(_ schema: String) -> String {
    """
    SELECT s.bytes, r.rid, r.meta, r.value FROM \(schema).state s LEFT JOIN \(schema).\(RecordTable.present.name) r ON r.idx = $1
      WHERE s.id = 1
    """
  }

  static let typesOfBatch = [
    PostgresResult.bytea, PostgresResult.bytea, PostgresResult.bytea, PostgresResult.bytea, PostgresResult.bigint,
  ]

  static func types(_ part: RecordPart, after columns: Int32 = 0) -> [UInt32] {
    [UInt32](repeating: PostgresResult.bytea, count: Int(columns) + (part == .all ? 3 : 2))
  }
}

/// A record that came along with the state, or the news that there is none.
struct RecordAhead {
  let index: [UInt8]
  let rows: PostgresResult
  /// The first of its columns.
  let first: Int32
}

extension RecordTable {
  var name: String { self == .present ? "rec" : "old" }
}

/// A record that came along with others.
struct ScannedRecord {
  private let answer: PostgresResult
  private let row: Int
  private let part: RecordPart

  init(_ answer: PostgresResult, _ row: Int, _ part: RecordPart) {
    self.answer = answer
    self.row = row
    self.part = part
  }

  /// Whether its value came along, or it has none.
  private(set) var isWhole = true
  private var rid = UnsafeRawBufferPointer(start: nil, count: 0), meta = UnsafeRawBufferPointer(start: nil, count: 0)
  private var value: UnsafeRawBufferPointer?

  /// The same, once its columns are found to be as they can be.
  func checked() throws(StoreError) -> ScannedRecord {
    var found = self
    found.rid = try answer.bytes(row, 1, RowLimits.indexBytes...RowLimits.indexBytes)
    found.meta = try answer.bytes(row, 2, RowLimits.sealedBytes)
    found.value = answer.isNull(row, 3) ? nil : try answer.bytes(row, 3, RowLimits.sealedBytes)
    if found.value == nil { found.isWhole = try answer.number(row, 4) < 0 }
    return found
  }

  func columns(_ part: RecordPart) -> RecordColumns {
    RecordColumns(rid: rid, meta: meta, value: part == .all ? value : nil)
  }
}

/// Records of a table that are asked for in the order of their indices, and come some hundred at a time.
struct RecordScan {
  let table: RecordTable
  let part: RecordPart
  private var batch: PostgresResult?
  /// The first row of the batch that was not passed yet.
  private var row = 0
  /// The batch behind it, where it has come.
  private(set) var next: PostgresResult?
  /// Whether that was asked for, and has not come.
  var isAsked = false

  init(table: RecordTable, part: RecordPart) {
    self.table = table
    self.part = part
  }

  /// The record at `index`, where it is in the batch, and whether it may stand behind it. Rows that stand before it are passed for good.
  mutating func record(at index: UnsafeRawBufferPointer) throws(StoreError) -> (found: ScannedRecord?, isBehind: Bool) {
    guard let batch else { return (nil, true) }
    let wanted = Self.halves(index)
    while row < batch.count {
      let place = Self.halves(try batch.bytes(row, 0, RowLimits.indexBytes...RowLimits.indexBytes))
      guard place < wanted else { return (place == wanted ? try ScannedRecord(batch, row, part).checked() : nil, false) }
      row += 1
    }
    // Nothing stands behind the last of a batch that is not full.
    return (nil, batch.count == RecordQuery.batch)
  }

  /// The 16 bytes of an index as numbers that are ordered as they are.
  private static func halves(_ index: UnsafeRawBufferPointer) -> (UInt64, UInt64) {
    (index.loadUnaligned(as: UInt64.self).bigEndian, index.loadUnaligned(fromByteOffset: 8, as: UInt64.self).bigEndian)
  }

  mutating func came(_ answer: PostgresResult) { (next, isAsked) = (answer, false) }

  mutating func turnToNext() -> PostgresResult? {
    (batch, row, next) = (next, 0, nil)
    return batch
  }
}

/// Lists of buckets that came with one answer.
struct ListScan {
  private let table: RecordTable
  private let place: VaultPlace
  private var answers: [PostgresResult] = []
  /// Where each bucket's entries stand among all of the answers; nil for a bucket that was not asked for.
  private var ranges: [Int: Range<Int>] = [:]
  private var starts: [Int] = []
  private var count = 0
  private let only: Int?
  private(set) var last: [UInt8]?

  init(_ table: RecordTable, _ place: VaultPlace, only: Int? = nil) {
    self.table = table
    self.place = place
    self.only = only
  }

  /// The list of `bucket` alone.
  init(_ answer: PostgresResult, bucket: Int, _ place: VaultPlace) throws(StoreError) {
    self.init(RecordTable(ofBucket: bucket), place, only: bucket)
    try answer.check([PostgresResult.bytea, PostgresResult.bytea])
    try append(answer)
  }

  /// The list of the bucket that `index` is in.
  init(_ answer: PostgresResult, bucketWith index: [UInt8], _ place: VaultPlace) throws(StoreError) {
    try self.init(answer, bucket: Self.bits(index), place)
  }

  /// The first ten bits of an index.
  static func bits(_ index: some Collection<UInt8>) -> Int {
    let first = index.prefix(2).reduce(0) { $0 << 8 | Int($1) }
    return first >> 6
  }

  mutating func append(_ answer: PostgresResult) throws(StoreError) {
    starts.append(count)
    answers.append(answer)
    for row in 0..<answer.count {
      let index = try answer.bytes(row, 0)
      _ = try answer.bytes(row, 1, RowLimits.indexBytes...RowLimits.indexBytes)
      let key = [UInt8](index)
      let bucket = Self.bits(key) + table.buckets.lowerBound
      guard key.count == RowLimits.indexBytes, last.map({ $0.lexicographicallyPrecedes(key) }) ?? true,
        only.map({ $0 == bucket }) ?? true
      else {
        throw StoreError(
          .damaged, "the records are not in order", place: place.description, cure: "run verify, then restore a backup")
      }
      last = key
      let range = ranges[bucket] ?? count + row..<count + row
      ranges[bucket] = range.lowerBound..<count + row + 1
    }
    count += answer.count
  }

  /// Where the entries of `bucket` stand; nil where nobody asked for them.
  func entries(of bucket: Int) -> Range<Int>? {
    guard only.map({ $0 == bucket }) ?? true else { return nil }
    return ranges[bucket] ?? 0..<0
  }

  func lend(
    _ entry: Int, _ body: (_ index: UnsafeRawBufferPointer, _ id: UnsafeRawBufferPointer) throws(StoreError) -> Void
  ) throws(StoreError) {
    guard let part = starts.lastIndex(where: { $0 <= entry }) else { return }
    let (answer, row) = (answers[part], entry - starts[part])
    try body(answer.bytes(row, 0), answer.bytes(row, 1))
  }
}
