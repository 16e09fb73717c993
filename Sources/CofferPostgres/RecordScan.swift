internal import CofferPlatform
internal import CofferVault
internal import CofferVaultFormat
internal import CofferVaultRows

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

  /// The record at `index`, where it is in the batch, and whether it may stand behind it. Rows that stand before it are passed
  /// for good.
  mutating func record(at index: UnsafeRawBufferPointer) throws(StoreError) -> (found: ScannedRecord?, isBehind: Bool) {
    guard let batch else { return (nil, true) }
    let wanted = IndexOrder(index)
    while row < batch.count {
      let place = IndexOrder(try batch.bytes(row, 0, RowLimits.indexBytes...RowLimits.indexBytes))
      guard place < wanted else { return (place == wanted ? try ScannedRecord(batch, row, part).checked() : nil, false) }
      row += 1
    }
    // Nothing stands behind the last of a batch that is not full.
    return (nil, batch.count == RecordQuery.batch)
  }

  mutating func came(_ answer: PostgresResult) { (next, isAsked) = (answer, false) }

  mutating func turnToNext() -> PostgresResult? {
    (batch, row, next) = (next, 0, nil)
    return batch
  }
}
