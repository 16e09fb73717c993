package import CofferMemory
internal import CofferPlatform
internal import CofferStorage
package import CofferVaultFormat

/// A machine's key for its bases, which outlive the vault's keys.
package final class MergeKey: Sendable {
  let bytes: SecretBytes

  /// - Parameter bytes: 32 random ones.
  package init(_ bytes: consuming SecretBytes) { self.bytes = bytes }
}

/// The content of a vault on which two machines agreed, as keyed digests: enough to see which side changed a record or a slot
/// since.
package struct MergeBase: Sendable, Equatable {
  /// One row: of which record, and with which content and form. Of a slot: its id, its secret and its label.
  struct Row: Hashable, Sendable {
    let line: RecordDigest, write: RecordDigest, form: RecordDigest
  }

  /// The rows of a bucket of `rec` and of the same one of `old`.
  struct Pair: Hashable, Sendable {
    /// As in the vault's set, to copy a pair that did not change.
    let digests: [Digest32]
    /// In the order of their bytes, so that equal bases have equal bytes.
    let rows: [Row]
    /// Nil if each row may be in a head.
    var kept: Kept?
  }

  /// A pair with rows that stay on this machine.
  struct Kept: Hashable, Sendable {
    /// The digests of a head's pair: without those rows.
    let digests: [Digest32]
    let counts: RecordCounts
  }

  static let pairs = DigestTree.buckets / 2
  private static let part = "base of a merge"
  private static let magic: StaticString = "COFFERB2"
  private static let headBytes = 8 + 8 + 32 + 2
  private static let pairBytes = 2 + 2 * 32 + 4
  private static let keptBytes = 2 * 32 + 3 * 8
  private static let rowBytes = 3 * 16

  /// The vault's key of that time. Another key spreads the records over other buckets.
  package let mark: EpochMark
  /// Ascending by the slots' ids.
  let slots: [Row]
  /// Those with records, by number.
  private(set) var pairs: [Int: Pair] = [:]

  /// The base of a vault in a transaction. Only pairs that `previous` has not are read.
  init(of items: ItemTable, _ key: MergeKey, from previous: MergeBase?, _ change: inout Change) throws(StoreError) {
    let view = items.view
    mark = view.keys.epochMark
    slots = zip(view.header.slots, view.headerBody.labels).map { Row($0, label: $1, key) }
    var changed: [Int] = []
    for pair in 0..<Self.pairs {
      let digests = items.records.digests(ofPair: pair, change)
      if let known = previous?.pairs[pair], previous?.mark == mark, known.digests == digests {
        pairs[pair] = known
      } else if digests != [.zero, .zero] {
        changed.append(pair)
      }
    }
    let side = try MergeSide(items, isOurs: true, pairs: changed, leavingOut: Self.leavesOut, hides: true, &change)
    let kept = try Kept.find(side.hiddenRows, items, change)
    var rows: [Int: [Row]] = [:]
    // In the order of a head's groups, each of which is then brought once.
    let sources = side.rows().flatMap { (id, sources) in sources.map { (id: id, source: $0) } }
    for (id, source) in sources.sorted(by: { $0.source.index < $1.source.index }) {
      let row = try source.row(of: id, key, change)
      rows[RecordTable.present.bucket(of: source.index), default: []].append(row)
    }
    for pair in changed {
      pairs[pair] = Pair(
        digests: items.records.digests(ofPair: pair, change),
        rows: rows[pair, default: []].sorted { $0.order.lexicographicallyPrecedes($1.order) }, kept: kept[pair])
    }
  }

  /// The rows of each record in some pairs; nil for all.
  func lines(in chosen: [Int]?) -> [RecordDigest: Set<Row>] {
    var lines: [RecordDigest: Set<Row>] = [:]
    for pair in chosen ?? Array(pairs.keys) {
      for row in pairs[pair]?.rows ?? [] { lines[row.line, default: []].insert(row) }
    }
    return lines
  }

  // MARK: Bytes

  /// Set in the number of a pair that is as in the newer base.
  private static let isSame: UInt16 = 1 << 15
  /// Set in the number of a pair with rows that stay on this machine.
  private static let hasKept: UInt16 = 1 << 14

  /// The mark of the key, the number of slots and a row of each, then each pair ascending: its number, two digests, the same
  /// and the counts of the rows that stay here, if there are any, the number of rows, and the rows.
  ///
  /// - Parameter newer: a base that the reader has; only the numbers of its pairs are written again.
  package func encoded(after newer: MergeBase? = nil) -> [UInt8] {
    let same = newer.flatMap { $0.mark == mark ? $0.pairs : nil } ?? [:]
    let size = pairs.reduce(Self.headBytes + slots.count * Self.rowBytes) { size, pair in
      size + (same[pair.key] == pair.value ? 2 : Self.pairBytes(of: pair.value))
    }
    return ByteWriter.bytes(size) { out in
      out.write(Self.magic)
      out.write(mark.epoch)
      out.write(mark.mark)
      out.write(UInt16(truncatingIfNeeded: slots.count))
      for slot in slots { slot.write(to: &out) }
      for (number, pair) in pairs.sorted(by: { $0.key < $1.key }) {
        guard same[number] != pair else {
          out.write(UInt16(number) | Self.isSame)
          continue
        }
        out.write(UInt16(number) | (pair.kept == nil ? 0 : Self.hasKept))
        for digest in pair.digests { out.write(digest) }
        if let kept = pair.kept {
          for digest in kept.digests { out.write(digest) }
          for count in [kept.counts.records, kept.counts.items, kept.counts.fields] { out.write(count) }
        }
        out.write(UInt32(pair.rows.count))
        for row in pair.rows { row.write(to: &out) }
      }
    }
  }

  private static func pairBytes(of pair: Pair) -> Int {
    pairBytes + pair.rows.count * rowBytes + (pair.kept == nil ? 0 : keptBytes)
  }

  /// - Throws: ``FormatError/damaged(_:_:)``. The caller checks that its own machine wrote the bytes.
  package init(decoding bytes: [UInt8], after newer: MergeBase? = nil) throws(FormatError) {
    self = try bytes.span.bytes.withUnsafeBytes { (bytes) throws(FormatError) in
      try FormatError.reading(bytes, of: Self.part) { (reader) throws(FormatError) in
        try MergeBase(from: &reader, after: newer)
      }
    }
  }

  private init(from reader: inout ByteReader, after newer: MergeBase?) throws(FormatError) {
    try reader.expect(Self.magic)
    mark = EpochMark(epoch: try reader.counter("epoch"), mark: try reader.block32())
    slots = try Self.rows(Int(try reader.number(UInt16.self)), from: &reader)
    var last = -1
    while reader.remaining > 0 {
      let found = try reader.number(UInt16.self)
      let number = Int(found & ~(Self.isSame | Self.hasKept))
      guard number > last, number < Self.pairs else { throw reader.damaged("its pairs are not in order") }
      last = number
      guard found & Self.isSame == 0 else {
        guard let newer, newer.mark == mark, let pair = newer.pairs[number] else {
          throw reader.damaged("it repeats a pair that is not there")
        }
        pairs[number] = pair
        continue
      }
      let digests: [Digest32] = [try reader.block32(), try reader.block32()]
      var kept: Kept?
      if found & Self.hasKept != 0 {
        kept = Kept(
          digests: [try reader.block32(), try reader.block32()], counts: try RecordCounts(from: &reader))
      }
      let rows = try Self.rows(Int(try reader.number(UInt32.self)), from: &reader)
      pairs[number] = Pair(digests: digests, rows: rows, kept: kept)
    }
  }

  private static func rows(_ count: Int, from reader: inout ByteReader) throws(FormatError) -> [Row] {
    // Before any memory is taken for them.
    guard count <= reader.remaining / rowBytes else { throw reader.damaged("it has fewer rows than it says") }
    var rows: [Row] = []
    rows.reserveCapacity(count)
    for _ in 0..<count {
      rows.append(Row(line: try reader.block16(), write: try reader.block16(), form: try reader.block16()))
    }
    return rows
  }
}

extension MergeBase.Row {
  init(_ slot: SealedSlot, label: String, _ key: MergeKey) {
    self.init(
      line: SealedSlot.digest(of: slot.id, key.bytes), write: slot.secretDigest(key.bytes),
      form: SealedSlot.digest(ofLabel: label, key.bytes))
  }

  fileprivate func write(to out: inout ByteWriter) { for digest in [line, write, form] { out.write(digest) } }
}

extension MergeBase.Row {
  fileprivate var order: [UInt8] { line.bytes + write.bytes + form.bytes }
}

extension MergeSource {
  func row(of id: ItemID, _ key: MergeKey, _ change: borrowing Change) throws(StoreError) -> MergeBase.Row {
    let record = try open(change)
    return MergeBase.Row(
      line: id.digest(key.bytes), write: record.writeDigest(key.bytes), form: record.meta.formDigest(key.bytes))
  }
}

extension RecordSet {
  /// The digests of a bucket of `rec` and of the same one of `old`.
  func digests(ofPair pair: Int, _ change: borrowing Change) -> [Digest32] {
    RecordTable.allCases.map { table in
      let bucket = table.buckets.lowerBound + pair
      return change.lists[bucket].map { DigestTree.digest(bucket, $0.entries, keys: view.keys) } ?? view.tree.digests[bucket]
    }
  }
}

extension CommittedRows {
  /// The base of a merge that agrees on these rows.
  ///
  /// - Parameter previous: an earlier base; its pairs that did not change are not read again.
  package func mergeBase(_ key: MergeKey, from previous: MergeBase?) throws(StoreError) -> MergeBase {
    var none = Change()
    return try MergeBase(of: ItemTable(view: view).whole, key, from: previous, &none)
  }
}
