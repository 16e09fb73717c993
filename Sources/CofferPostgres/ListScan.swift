internal import CofferPlatform
internal import CofferVaultFormat
internal import CofferVaultRows

/// Lists of buckets from common answers.
struct ListScan {
  private let table: RecordTable
  private let place: VaultPlace
  private var answers: [PostgresResult] = []
  /// Each bucket's range among all answers; nil for other buckets.
  private var ranges: [Int: Range<Int>] = [:]
  private var starts: [Int] = []
  private(set) var count = 0
  private let only: Int?
  private var last: IndexOrder?

  init(_ table: RecordTable, _ place: VaultPlace, only: Int? = nil) {
    self.table = table
    self.place = place
    self.only = only
  }

  init(_ answer: PostgresResult, bucket: Int, _ place: VaultPlace) throws(StoreError) {
    self.init(RecordTable(ofBucket: bucket), place, only: bucket)
    try answer.check([PostgresResult.bytea, PostgresResult.bytea])
    guard answer.count <= RecordQuery.listBatch else { throw answer.tampered("a list has more records than any bucket") }
    try append(answer)
  }

  /// The list of the bucket with `index`.
  init(_ answer: PostgresResult, bucketWith index: [UInt8], _ place: VaultPlace) throws(StoreError) {
    try self.init(answer, bucket: IndexOrder.bits(index), place)
  }

  mutating func append(_ answer: PostgresResult) throws(StoreError) {
    starts.append(count)
    answers.append(answer)
    for row in 0..<answer.count {
      let index = IndexOrder(try answer.bytes(row, 0, RowLimits.indexBytes...RowLimits.indexBytes))
      _ = try answer.bytes(row, 1, RowLimits.indexBytes...RowLimits.indexBytes)
      let bucket = index.bits + table.buckets.lowerBound
      guard last.map({ $0 < index }) ?? true, only.map({ $0 == bucket }) ?? true else {
        throw StoreError(
          .damaged, "the records are not in order", place: place.description, cure: "run verify, then restore a backup")
      }
      last = index
      let range = ranges[bucket] ?? count + row..<count + row
      ranges[bucket] = range.lowerBound..<count + row + 1
    }
    count += answer.count
  }

  /// The range of `bucket`; nil if it was not requested.
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

/// An index as two numbers, ordered like its 16 bytes.
struct IndexOrder: Comparable {
  private let first: UInt64, second: UInt64

  init(_ index: UnsafeRawBufferPointer) {
    first = index.loadUnaligned(as: UInt64.self).bigEndian
    second = index.loadUnaligned(fromByteOffset: 8, as: UInt64.self).bigEndian
  }

  static func < (one: IndexOrder, other: IndexOrder) -> Bool { (one.first, one.second) < (other.first, other.second) }

  var bits: Int { Int(first >> 54) }

  static func bits(_ index: some Collection<UInt8>) -> Int { index.prefix(2).reduce(0) { $0 << 8 | Int($1) } >> 6 }
}
