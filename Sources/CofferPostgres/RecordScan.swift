internal import CofferPlatform
internal import CofferVaultFormat
internal import CofferVaultRows

/// A record in a batch.
struct ScannedRecord {
  private let answer: PostgresResult
  private let row: Int
  private let part: RecordPart

  init(_ answer: PostgresResult, _ row: Int, _ part: RecordPart) {
    self.answer = answer
    self.row = row
    self.part = part
  }

  /// Whether its value is included, or it has none.
  private(set) var isWhole = true
  private var rid = UnsafeRawBufferPointer(start: nil, count: 0), meta = UnsafeRawBufferPointer(start: nil, count: 0)
  private var value: UnsafeRawBufferPointer?

  /// The same, after a check of its columns.
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

/// A table's records, read in order of their indices in batches of some hundred.
struct RecordScan {
  let table: RecordTable
  let part: RecordPart
  private var batch: PostgresResult?
  /// The batch's first row not yet passed.
  private var row = 0
  /// The next batch, if it has come.
  private(set) var next: PostgresResult?
  /// Whether that was requested, and has not come.
  var isAsked = false

  init(table: RecordTable, part: RecordPart) {
    self.table = table
    self.part = part
  }

  /// The record at `index`, if in the batch, and whether it may come after it. Earlier rows are passed for good.
  mutating func record(at index: UnsafeRawBufferPointer) throws(StoreError) -> (found: ScannedRecord?, isBehind: Bool) {
    guard let batch else { return (nil, true) }
    let wanted = IndexOrder(index)
    while row < batch.count {
      let place = IndexOrder(try batch.bytes(row, 0, RowLimits.indexBytes...RowLimits.indexBytes))
      guard place < wanted else { return (place == wanted ? try ScannedRecord(batch, row, part).checked() : nil, false) }
      row += 1
    }
    // Nothing follows a batch that is not full.
    return (nil, batch.count == RecordQuery.batch)
  }

  mutating func came(_ answer: PostgresResult) { (next, isAsked) = (answer, false) }

  mutating func turnToNext() -> PostgresResult? {
    (batch, row, next) = (next, 0, nil)
    return batch
  }
}
