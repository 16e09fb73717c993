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
  /// Where batches begin, if that is known, and how many of these were requested.
  private let starts: [RecordIndex]
  private var begun = 0
  /// How many batches were requested, and have not come.
  private(set) var pending = 0
  private var window = RecordQuery.firstWindow
  private var mostWindow = RecordQuery.mostWindow
  private var batch: PostgresResult?
  /// The batch's first row not yet passed.
  private var row = 0
  /// The next batch, if it came before another question's answer.
  private var next: PostgresResult?

  init(table: RecordTable, part: RecordPart, starts: [RecordIndex]) {
    self.table = table
    self.part = part
    self.starts = starts
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
    return (nil, batch.count == ExpectedRows.batch)
  }

  /// Where the batches begin that are to be requested now.
  ///
  /// - Parameter index: the record that is wanted; nil after a batch was taken.
  mutating func toAsk(from index: [UInt8]?) throws(StoreError) -> [[UInt8]] {
    guard pending == 0, next == nil else { return [] }
    var all: [[UInt8]] = []
    if !starts.isEmpty {
      // A record behind its batch: rows were added, or the server sent others.
      if let index, begun > 0 { all.append(index) }
      let ahead = starts[begun...].prefix(window)
      begun += ahead.count
      all += ahead.map(\.bytes)
    } else if let index {
      all = [index]
    } else if let batch, batch.count == ExpectedRows.batch {
      all = [[UInt8](try batch.bytes(batch.count - 1, 0)) + [0]]
    }
    pending = all.count
    return all
  }

  /// Goes on in a batch that came; nil for one that was put aside.
  mutating func turn(to answer: PostgresResult?) {
    if answer != nil { pending -= 1 }
    (batch, row, next) = (answer ?? next, 0, nil)
    let bytes = batch.map { batch in (0..<batch.count).reduce(0) { $0 + batch.length($1, 2) + batch.length($1, 3) } } ?? 0
    window = max(1, min(RecordQuery.bytesOfWindow / max(bytes, 1), mostWindow))
  }

  var hasNext: Bool { next != nil }

  /// The number of known batches that may come before a record.
  var mostAhead: Int { starts.count - begun + pending }

  /// Puts aside the first batch that comes before another question's answer. Others are requested again, now one by one: all
  /// of them would take too much memory.
  mutating func putAside(_ answer: PostgresResult) {
    pending -= 1
    if next == nil { next = answer } else { begun -= 1 }
    mostWindow = 1
  }
}
