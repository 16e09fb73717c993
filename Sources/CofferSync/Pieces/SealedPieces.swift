package import CofferPlatform
package import CofferStorage
package import CofferVaultFormat
package import CofferVaultRows

/// The rows of a head, read only. A group is brought when one of its buckets is read, and checked against its name.
///
/// A head has no digests: a reader with the keys computes them, and the root in the state proves them. Log and outcomes are
/// empty.
package final class SealedPieces: VaultRows {
  package let place: VaultPlace
  package let head: Head
  private let bring: (Digest32) throws(StoreError) -> [UInt8]
  private let entries: [Int: Head.Entry]
  /// Of a small vault all groups; of a large one those read last, as a pass in order brings each group once.
  private var kept: [Int: Group] = [:]
  private var keptBytes = 0
  private let mostKept: Int
  private var digests: [Int: Digest32] = [:]

  /// - Parameters:
  ///   - remote: the address, for errors.
  ///   - digests: of buckets, zeros for an empty one, as known from equal groups that were proven here before. These are
  ///     believed.
  ///   - mostKept: bytes of groups in memory.
  ///   - bring: the bytes of the group with this name, which may be any. A missing one is an error of it.
  package init(
    _ head: Head, at remote: String, digests: [Int: Digest32] = [:], mostKept: Int = 16 << 20,
    bring: @escaping (Digest32) throws(StoreError) -> [UInt8]
  ) {
    place = VaultPlace(remote: remote)
    self.head = head
    self.digests = digests
    self.mostKept = mostKept
    self.bring = bring
    entries = Dictionary(uniqueKeysWithValues: head.groups.map { ($0.number, $0) })
  }

  /// Nil where no group is named.
  private func group(ofPair pair: Int) throws(StoreError) -> Group? {
    let number = pair * head.groupCount / Group.pairs
    guard let entry = entries[number] else { return nil }
    if let group = kept[number] { return group }
    let bytes = try bring(entry.hash)
    let group: Group
    do throws(FormatError) {
      guard bytes.count == entry.byteCount, PlainHash.digest(bytes) == entry.hash else {
        throw .damaged(Group.part, "it has other bytes than its name says")
      }
      group = try Group(decoding: bytes, of: head.pairs(of: number))
    } catch { throw error.ofPiece(at: place.description) }
    if keptBytes + bytes.count > mostKept { (kept, keptBytes) = ([:], 0) }
    kept[number] = group
    keptBytes += bytes.count
    return group
  }

  private var readOnly: StoreError {
    StoreError(.readOnly, "a remote's files never change", place: place.description, cure: "write to the vault, then sync")
  }

  // MARK: Header, state and digests

  package func lendHeader(_ copy: HeaderCopy, _ body: (UnsafeRawBufferPointer) throws(StoreError) -> Void) throws(StoreError) {
    let header = head.header
    try header.span.bytes.withUnsafeBytes(body)
  }

  package func lendState(_ body: (UnsafeRawBufferPointer) throws(StoreError) -> Void) throws(StoreError) {
    let state = head.state
    try state.span.bytes.withUnsafeBytes(body)
  }

  /// The two buckets of a pair together, so that each group is brought once.
  package var bucketsWithoutDigest: [Int] {
    head.groups.flatMap { head.pairs(of: $0.number) }.flatMap { pair in
      RecordTable.allCases.map { $0.buckets.lowerBound + pair }
    }
    .filter { digests[$0] == nil }
  }

  package func putDigest(_ hash: UnsafeRawBufferPointer, bucket: Int) throws(StoreError) { digests[bucket] = Digest32(hash) }

  package func forEachDigest(
    in buckets: [Int]?, _ body: (_ bucket: Int, _ hash: UnsafeRawBufferPointer) throws(StoreError) -> Void
  ) throws(StoreError) {
    for bucket in buckets ?? digests.keys.sorted() {
      guard let digest = digests[bucket], digest != .zero else { continue }
      try digest.withBytes { (digest) throws(StoreError) in try body(bucket, digest) }
    }
  }

  package func forEachID(in table: SingleTable, _ body: (Int64) throws(StoreError) -> Void) throws(StoreError) {
    try body(table.id)
  }

  // MARK: Records

  package func lendRecord(
    at index: UnsafeRawBufferPointer, in table: RecordTable, _ part: RecordPart,
    _ body: (borrowing RecordColumns) throws(StoreError) -> Void
  ) throws(StoreError) {
    guard let index = RecordIndex(index) else { return }
    let group = try group(ofPair: RecordTable.present.bucket(of: index))
    try group?.lendRow(at: index, in: table) { (columns) throws(StoreError) in
      try body(RecordColumns(rid: columns.rid, meta: columns.meta, value: part == .all ? columns.value : nil))
    }
  }

  package func forEachRecord(
    in table: RecordTable, _ body: (_ index: UnsafeRawBufferPointer, borrowing RecordColumns) throws(StoreError) -> Void
  ) throws(StoreError) {
    for bucket in table.buckets {
      try group(ofPair: bucket - table.buckets.lowerBound)?.forEachRow(inBucket: bucket, body)
    }
  }

  package func forEachIndex(
    inBucket bucket: Int, _ body: (_ index: UnsafeRawBufferPointer, _ id: UnsafeRawBufferPointer) throws(StoreError) -> Void
  ) throws(StoreError) {
    try group(ofPair: bucket % Group.pairs)?.forEachRow(inBucket: bucket) { (index, columns) throws(StoreError) in
      try body(index, columns.rid)
    }
  }
}

// The parts of a vault that a head lacks.
extension SealedPieces {
  package var isUnwritableFile: Bool { true }
  package var canRemoveOldBytes: Bool { false }
  package var isRemote: Bool { false }
  package var hasLostCommit: Bool { false }

  package func beginReading() {}
  package func endReading() {}
  package func beginWriting() throws(StoreError) { throw readOnly }
  package func accompany(with companion: (any CompanionWrites)?) {}
  package func commit() throws(StoreError) { throw readOnly }
  package func rollBack() {}
  package func close() {}
  package func discard() {}
  package func dataVersion() -> Int64 { 1 }
  package func recheckSchema() {}
  package func isInPlace() -> Bool { true }
  package func expect(_ rows: ExpectedRows) {}

  package func putHeader(_ copy: HeaderCopy, _ bytes: UnsafeRawBufferPointer) throws(StoreError) { throw readOnly }
  package func putState(_ bytes: UnsafeRawBufferPointer) throws(StoreError) { throw readOnly }
  package func deleteDigest(bucket: Int) throws(StoreError) { throw readOnly }
  package func putRecord(
    at index: UnsafeRawBufferPointer, in table: RecordTable, _ record: borrowing RecordColumns, over standing: RecordPlace
  ) throws(StoreError) { throw readOnly }
  package func deleteRecord(at index: UnsafeRawBufferPointer, in table: RecordTable) throws(StoreError) { throw readOnly }
  package func removeAddedRows(
    keepingLogRows kept: ClosedRange<Int64>, times: ClosedRange<Int64>, mostDropped: Int64
  ) throws(StoreError) { throw readOnly }

  package func checkStorage(_ what: String) {}
  package func during(_ work: RowsWork, _ body: () throws(StoreError) -> Void) throws(StoreError) { try body() }
  package func keepCopy() throws(StoreError) -> VaultPlace { throw readOnly }
  package func storedBytes() -> Int64 { Int64(head.groups.reduce(0) { $0 + $1.byteCount }) }
  package func removeOldBytes(rewriting: Bool) throws(StoreError) { throw readOnly }

  package var logRows: any LogRows { NoRows(error: readOnly) }
  package var outcomeRows: any OutcomeRows { NoRows(error: readOnly) }
}

private struct NoRows: LogRows, OutcomeRows {
  let error: StoreError

  func forEachLogRow(
    from first: Int64, most: Int?, _ body: (_ seq: Int64, _ box: UnsafeRawBufferPointer) throws(StoreError) -> Void
  ) {}
  func lendLogRow(_ seq: Int64, _ body: (UnsafeRawBufferPointer) throws(StoreError) -> Void) {}
  func firstLogRow() -> Int64? { nil }
  func appendLogRow(_ seq: Int64, _ box: UnsafeRawBufferPointer) throws(StoreError) { throw error }
  func putLogRow(_ seq: Int64, _ box: UnsafeRawBufferPointer) throws(StoreError) { throw error }
  func keepLogRows(_ kept: ClosedRange<Int64>) throws(StoreError) { throw error }
  func outcome(of transaction: UnsafeRawBufferPointer) -> OutcomeColumns? { nil }
  func putOutcome(_ outcome: OutcomeColumns, of transaction: UnsafeRawBufferPointer) throws(StoreError) { throw error }
  func deleteOutcome(of transaction: UnsafeRawBufferPointer) throws(StoreError) { throw error }
  func forEachOutcome(_ body: (UnsafeRawBufferPointer, OutcomeColumns) throws(StoreError) -> Void) {}
  func countOutcomes(_ outcome: Int64) -> Int64 { 0 }
  func expireOutcomes(_ outcome: Int64, before time: Int64, after limit: Int64) throws(StoreError) { throw error }
}
