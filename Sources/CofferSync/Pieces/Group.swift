internal import CofferPlatform
package import CofferVaultFormat
package import CofferVaultRows

/// The sealed rows of a run of bucket pairs: of each pair ascending, the rows of `rec`, then those of `old`, by index.
///
/// A pair is bucket b of `rec` and b of `old`, which together have all records of an item.
package struct Group: Sendable {
  /// The most that a reader keeps in memory at once: 64 fields of the greatest size have 150 MiB, beside their past.
  package static let largest = 256 << 20
  /// Pairs of buckets in a vault.
  package static let pairs = DigestTree.buckets / 2
  static let part = "group"
  private static let fixedBytes = 16 + 16 + 1 + 4

  private let bytes: [UInt8]
  /// The place of each row.
  private let rows: [Int]

  /// Checks each row's place and lengths. The seals are for a reader with the keys.
  ///
  /// - Throws: ``FormatError/damaged(_:_:)``.
  package init(decoding bytes: [UInt8], of pairs: Range<Int>) throws(FormatError) {
    guard (1...Self.largest).contains(bytes.count) else { throw .damaged(Self.part, "it has \(bytes.count) bytes") }
    rows = try bytes.span.bytes.withUnsafeBytes { (bytes) throws(FormatError) in
      try FormatError.reading(bytes, of: Self.part) { (reader) throws(FormatError) in
        var rows: [Int] = []
        var last: Place?
        while reader.remaining > 0 {
          rows.append(reader.offset)
          let row = try Row(from: &reader)
          if let last, last >= row.place { throw reader.damaged("its rows are not in order") }
          guard pairs.contains(row.place.pair) else { throw reader.damaged("a row is of another group") }
          last = row.place
        }
        return rows
      }
    }
    self.bytes = bytes
  }

  /// Lends the rows of a bucket, ascending by index.
  package func forEachRow<Failure: Error>(
    inBucket bucket: Int, _ body: (_ index: UnsafeRawBufferPointer, borrowing RecordColumns) throws(Failure) -> Void
  ) throws(Failure) {
    let table = RecordTable(ofBucket: bucket)
    let pair = bucket - table.buckets.lowerBound
    try bytes.span.bytes.withUnsafeBytes { (bytes) throws(Failure) in
      for place in first(atOrAfter: Place(pair: pair, table: table, index: .zero), bytes)..<rows.count {
        let row = row(place, bytes)
        guard row.place.pair == pair, row.place.table == table else { return }
        try row.lend(body)
      }
    }
  }

  /// Lends the row at `index`, if there is one.
  package func lendRow<Failure: Error>(
    at index: RecordIndex, in table: RecordTable, _ body: (borrowing RecordColumns) throws(Failure) -> Void
  ) throws(Failure) {
    try bytes.span.bytes.withUnsafeBytes { (bytes) throws(Failure) in
      let wanted = Place(pair: RecordTable.present.bucket(of: index), table: table, index: index)
      let place = first(atOrAfter: wanted, bytes)
      guard place < rows.count, case let row = row(place, bytes), row.place == wanted else { return }
      try row.lend { (_, columns) throws(Failure) in try body(columns) }
    }
  }

  private func first(atOrAfter wanted: Place, _ bytes: UnsafeRawBufferPointer) -> Int {
    var (low, high) = (0, rows.count)
    while low < high {
      let middle = (low + high) / 2
      if row(middle, bytes).place < wanted { low = middle + 1 } else { high = middle }
    }
    return low
  }

  private func row(_ place: Int, _ bytes: UnsafeRawBufferPointer) -> Row {
    var reader = ByteReader(bytes.part(rows[place]..<bytes.count), of: Self.part)
    do throws(FormatError) { return try Row(from: &reader) } catch { preconditionFailure("each row was read before") }
  }

  /// The bytes that ``append(_:at:in:to:)`` adds for a row.
  static func byteCount(_ columns: borrowing RecordColumns) -> Int {
    fixedBytes + columns.meta.count + (columns.value.map { 4 + $0.count } ?? 0)
  }

  /// Adds a row to the bytes of a group.
  static func append(
    _ columns: borrowing RecordColumns, at index: UnsafeRawBufferPointer, in table: RecordTable, to bytes: inout [UInt8]
  ) {
    bytes += index
    bytes += columns.rid
    bytes.append((table == .old ? Row.isOld : 0) | (columns.value == nil ? 0 : Row.hasValue))
    append(prefixed: columns.meta, to: &bytes)
    if let value = columns.value { append(prefixed: value, to: &bytes) }
  }

  private static func append(prefixed field: UnsafeRawBufferPointer, to bytes: inout [UInt8]) {
    withUnsafeBytes(of: UInt32(truncatingIfNeeded: field.count).littleEndian) { bytes += $0 }
    bytes += field
  }
}

/// The order of a group's rows.
private struct Place: Comparable {
  let pair: Int, table: RecordTable, index: RecordIndex

  static func < (left: Place, right: Place) -> Bool {
    (left.pair, left.table.rawValue, left.index) < (right.pair, right.table.rawValue, right.index)
  }
}

/// A row in the bytes of its group.
private struct Row {
  static let isOld: UInt8 = 1, hasValue: UInt8 = 2

  let place: Place
  private let index: UnsafeRawBufferPointer, rid: UnsafeRawBufferPointer, meta: UnsafeRawBufferPointer
  private let value: UnsafeRawBufferPointer?

  init(from reader: inout ByteReader) throws(FormatError) {
    index = try reader.take(16)
    rid = try reader.take(16)
    let flags: UInt8 = try reader.number()
    guard flags <= 3 else { throw reader.damaged("a row has the flags \(flags)") }
    meta = try Self.column(from: &reader)
    value = flags & Self.hasValue == 0 ? nil : try Self.column(from: &reader)
    guard 32 + meta.count + (value?.count ?? 0) <= RowLimits.rowBytes, let index = RecordIndex(index) else {
      throw reader.damaged("a row is longer than any is")
    }
    place = Place(
      pair: RecordTable.present.bucket(of: index), table: flags & Self.isOld == 0 ? .present : .old, index: index)
  }

  private static func column(from reader: inout ByteReader) throws(FormatError) -> UnsafeRawBufferPointer {
    let column = try reader.prefixed(limit: RowLimits.sealedBytes.upperBound, "column")
    guard RowLimits.sealedBytes.contains(column.count) else { throw reader.damaged("a column has \(column.count) bytes") }
    return column
  }

  func lend<Failure: Error>(
    _ body: (_ index: UnsafeRawBufferPointer, borrowing RecordColumns) throws(Failure) -> Void
  ) throws(Failure) {
    try body(index, RecordColumns(rid: rid, meta: meta, value: value))
  }
}
