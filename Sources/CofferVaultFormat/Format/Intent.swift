internal import CofferMemory

/// A writer's sealed commit that another writer can make for it, on a server where many write: rows that are sealed already,
/// and the vault that they are for.
///
/// It is only taken into the history that it was made over, under the same key, once, and while each bucket that it was made
/// of has the same digest.
package struct Intent: Sendable {
  package enum Write: Sendable {
    case put(SealedRecord, RecordTable, replacing: Bool)
    case move(SealedRecord, RecordTable, from: RecordIndex)
    case delete(RecordIndex, RecordTable)
  }

  package typealias Digests = [(bucket: Int, digest: Digest32)]

  /// Sealed. A longer commit waits for its turn, which bounds the memory of the writer that reads them.
  package static let largest = 64 * 1024
  static let part = "intent"

  /// In each row of the log that it adds.
  package let id: CommitID
  /// The author: its machine, if that has a pin, and its slot.
  package let replica: ReplicaID?
  package let slot: SlotID
  /// The log over which it was made.
  package let sequence: UInt64, head: Digest32
  /// Of all buckets on which it depends, as they were.
  package let base: Digests
  /// Of those that it changes.
  package let changed: Digests
  package let added: RecordCounts.Change
  package let events: [LogEntry]
  package let writes: [Write]

  package init(
    _ id: CommitID, by replica: ReplicaID?, with slot: SlotID, over state: VaultState, base: Digests, changed: Digests,
    added: RecordCounts.Change, events: [LogEntry], writes: [Write]
  ) {
    (self.id, self.replica, self.slot, sequence, head) = (id, replica, slot, state.logSequence, state.logHead)
    (self.base, self.changed, self.added, self.events, self.writes) = (base, changed, added, events, writes)
  }

  /// Its box under the epoch's key; nil if it is too large.
  package func sealed(_ keys: borrowing Subkeys) -> [UInt8]? {
    let count = encodedCount
    guard count + CommittedBox.overhead <= Self.largest else { return nil }
    let content = ByteWriter.bytes(count) { write(to: &$0) }
    let vault = keys.vault
    return content.span.bytes.withUnsafeBytes { content in
      keys.withKey(.sta) { CommittedBox.seal(content, under: $0, for: .intent, salt: vault, context: []).bytes }
    }
  }

  /// - Throws: ``FormatError`` for a box of another key.
  package init(_ box: UnsafeRawBufferPointer, keys: borrowing Subkeys) throws(FormatError) {
    let box = CommittedBox(bytes: [UInt8](box))
    let vault = keys.vault
    let content = try keys.withKey(.sta) { (key) throws(FormatError) in
      try box.open(under: key, for: .intent, salt: vault, context: [], part: Self.part)
    }
    self = try content.withUnsafeBytes { (content) throws(FormatError) in
      try FormatError.reading(content, of: Self.part) { (reader) throws(FormatError) in try Intent(from: &reader) }
    }
  }

  private var encodedCount: Int {
    let writes = writes.reduce(0) { $0 + $1.encodedCount }
    return 16 + 1 + (replica == nil ? 0 : 16) + 16 + 8 + 32 + 2 + 2 + (base.count + changed.count) * 34
      + RecordCounts.Change.bytes + 2
      + events.reduce(0) { $0 + 4 + $1.encodedCount } + 2 + writes
  }

  private func write(to out: inout ByteWriter) {
    out.write(id)
    out.write(UInt8(replica == nil ? 0 : 1))
    if let replica { out.write(replica) }
    out.write(slot)
    out.write(sequence)
    out.write(head)
    for digests in [base, changed] {
      out.write(UInt16(truncatingIfNeeded: digests.count))
      for (bucket, digest) in digests {
        out.write(UInt16(truncatingIfNeeded: bucket))
        out.write(digest)
      }
    }
    added.write(to: &out)
    out.write(UInt16(truncatingIfNeeded: events.count))
    for event in events {
      out.write(UInt32(truncatingIfNeeded: event.encodedCount))
      event.write(to: &out, after: .zero)
    }
    out.write(UInt16(truncatingIfNeeded: writes.count))
    for write in writes { write.write(to: &out) }
  }

  private init(from reader: inout ByteReader) throws(FormatError) {
    id = try reader.block16()
    replica = try reader.number(UInt8.self) == 0 ? nil : reader.block16()
    slot = try reader.block16()
    sequence = try reader.counter("log")
    head = try reader.block32()
    base = try Self.digests(from: &reader)
    changed = try Self.digests(from: &reader)
    added = try RecordCounts.Change(changeFrom: &reader)
    var events: [LogEntry] = [], writes: [Write] = [], head = Digest32.zero
    for _ in 0..<(try reader.number(UInt16.self)) {
      events.append(try LogEntry(decoding: reader.prefixed(limit: Self.largest, "entry"), head: &head))
    }
    for _ in 0..<(try reader.number(UInt16.self)) { writes.append(try Write(from: &reader)) }
    (self.events, self.writes) = (events, writes)
  }

  private static func digests(from reader: inout ByteReader) throws(FormatError) -> Digests {
    var digests: Digests = []
    for _ in 0..<(try reader.number(UInt16.self)) {
      let bucket = Int(try reader.number(UInt16.self))
      guard bucket < DigestTree.buckets else { throw reader.damaged("it names a bucket that no vault has") }
      digests.append((bucket, try reader.block32()))
    }
    return digests
  }
}

extension Intent.Write {
  private var parts: (number: UInt8, table: RecordTable, record: SealedRecord?, index: RecordIndex?) {
    switch self {
    case .put(let record, let table, let replacing): (replacing ? 2 : 1, table, record, nil)
    case .move(let record, let table, let former): (3, table, record, former)
    case .delete(let index, let table): (4, table, nil, index)
    }
  }

  fileprivate var encodedCount: Int {
    let (_, _, record, index) = parts
    return 2 + (record.map { 16 + 16 + 4 + $0.meta.count + 1 + ($0.value.map { 4 + $0.count } ?? 0) } ?? 0)
      + (index == nil ? 0 : 16)
  }

  fileprivate func write(to out: inout ByteWriter) {
    let (number, table, record, index) = parts
    out.write(number)
    out.write(UInt8(table.rawValue))
    if let record {
      out.write(record.index)
      out.write(record.id)
      out.write(prefixed: record.meta)
      out.write(UInt8(record.value == nil ? 0 : 1))
      if let value = record.value { out.write(prefixed: value) }
    }
    if let index { out.write(index) }
  }

  fileprivate init(from reader: inout ByteReader) throws(FormatError) {
    let number = try reader.number(UInt8.self)
    guard let table = RecordTable(rawValue: Int(try reader.number(UInt8.self))) else {
      throw reader.damaged("it names a table that no vault has")
    }
    switch number {
    case 1, 2: self = .put(try Self.record(from: &reader), table, replacing: number == 2)
    case 3: self = .move(try Self.record(from: &reader), table, from: try reader.block16())
    case 4: self = .delete(try reader.block16(), table)
    default: throw reader.damaged("it has a change of an unknown kind")
    }
  }

  private static func record(from reader: inout ByteReader) throws(FormatError) -> SealedRecord {
    let (index, id): (RecordIndex, RecordID) = (try reader.block16(), try reader.block16())
    let meta = [UInt8](try reader.prefixed(limit: Intent.largest, "description"))
    let value = try reader.number(UInt8.self) == 0 ? nil : [UInt8](try reader.prefixed(limit: Intent.largest, "value"))
    return SealedRecord(index: index, id: id, meta: meta, value: value)
  }
}
