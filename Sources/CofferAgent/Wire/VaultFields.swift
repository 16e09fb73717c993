internal import CofferClient
package import CofferPlatform
internal import CofferStorage
package import CofferVault
internal import FoundationEssentials

// Requests and answers about a whole vault, its export and its import.

extension ItemQuery: WireValue {
  package func put(in frame: inout FrameWriter) throws(StoreError) {
    try frame.put(service, otherThan, texts, attributes, attributeNames, besides, ofFields, isUse)
  }
  package static func read(from fields: inout FrameReader) throws(StoreError) -> ItemQuery {
    var query = ItemQuery(service: try fields.read())
    query.otherThan = try fields.read()
    query.texts = try fields.read()
    query.attributes = try fields.read()
    query.attributeNames = try fields.read()
    query.besides = try fields.read()
    query.ofFields = try fields.flag()
    query.isUse = try fields.flag()
    return query
  }
}

extension ItemQuery.Attribute: ListedWireValue {
  package static var leastBytes: Int { 8 }
  package func put(in frame: inout FrameWriter) throws(StoreError) { try frame.put(name, value) }
  package static func read(from fields: inout FrameReader) throws(StoreError) -> Self { try Self(fields.text(), fields.text()) }
}

extension ItemQuery.Mark: WireValue {
  package func put(in frame: inout FrameWriter) throws(StoreError) { try frame.put(name, value) }
  package static func read(from fields: inout FrameReader) throws(StoreError) -> Self { try Self(fields.text(), fields.read()) }
}

extension VaultLogEntry: WireValue {
  package func put(in frame: inout FrameWriter) throws(StoreError) {
    try frame.put(sequence, date, event.rawValue, user, process, program, item, index, slot, openedWith)
  }
  package static func read(from fields: inout FrameReader) throws(StoreError) -> VaultLogEntry {
    try VaultLogEntry(
      sequence: fields.number(), date: fields.read(), event: Event(rawValue: fields.text()) ?? .unknown,
      user: fields.number(), process: fields.number(), program: fields.text(), item: fields.read(), index: fields.read(),
      slot: fields.read(), openedWith: fields.text())
  }
}

/// An agent's description of an unlocked vault, without its items.
package struct HeldVaultDescription: Sendable, Equatable {
  package let status: VaultStatus
  package let pin: PinStatus
  /// Entries of the log.
  package let log: Int
  /// Bytes of the agent's guarded memory that cannot, and that may, reach the swap.
  package let lockedBytes: Int, unlockedBytes: Int

  package init(status: VaultStatus, pin: PinStatus, log: Int, lockedBytes: Int, unlockedBytes: Int) {
    (self.status, self.pin, self.log) = (status, pin, log)
    (self.lockedBytes, self.unlockedBytes) = (lockedBytes, unlockedBytes)
  }
}

extension HeldVaultDescription: WireValue {
  package func put(in frame: inout FrameWriter) throws(StoreError) {
    try frame.put(
      UInt64(clamping: status.items), status.generation, status.epoch, status.created, status.rotated, status.oldBytesRemain,
      pin.number, UInt64(clamping: log), UInt64(clamping: lockedBytes), UInt64(clamping: unlockedBytes),
      UInt32(clamping: status.slots.count))
    for slot in status.slots {
      try frame.put(slot.summary.id.bytes)
      try frame.put(slot.summary.kind.rawValue, slot.summary.passes, slot.summary.mebibytes, slot.label, slot.isInUse)
    }
  }
  package static func read(from fields: inout FrameReader) throws(StoreError) -> HeldVaultDescription {
    let (items, generation, epoch) = (try fields.int(), try fields.number(UInt64.self), try fields.number(UInt64.self))
    let (created, rotated, oldBytesRemain) = (try fields.read(Date.self), try fields.read(Date.self), try fields.flag())
    guard let pin = PinStatus(number: try fields.number()) else { throw .malformed("it has an unknown state of a pin") }
    let (log, locked, unlocked) = (try fields.int(), try fields.int(), try fields.int())
    var slots: [VaultStatus.Slot] = []
    for _ in 0..<(try fields.count(ofAtLeast: 14)) { slots.append(try fields.slot()) }
    return HeldVaultDescription(
      status: VaultStatus(
        items: items, generation: generation, epoch: epoch, created: created, rotated: rotated, slots: slots,
        oldBytesRemain: oldBytesRemain),
      pin: pin, log: log, lockedBytes: locked, unlockedBytes: unlocked)
  }
}

extension FrameReader {
  fileprivate mutating func slot() throws(StoreError) -> VaultStatus.Slot {
    let id = SlotSummary.ID(bytes: try plainBytes(limit: 16))
    guard let kind = SlotKind(rawValue: try number()) else { throw .malformed("it has an unknown kind of slot") }
    return try VaultStatus.Slot(
      summary: SlotSummary(id: id, kind: kind, passes: number(), mebibytes: number()), label: text(), isInUse: flag())
  }
}

extension StoredContent: WireValue {
  package func put(in frame: inout FrameWriter) throws(StoreError) {
    switch self {
    case .absent: try frame.put(0 as UInt8)
    case .withoutValue: try frame.put(1 as UInt8)
    case .form(let form): try frame.put(2 as UInt8, form)
    }
  }
  package static func read(from fields: inout FrameReader) throws(StoreError) -> StoredContent {
    switch try fields.number(UInt8.self) {
    case 0: .absent
    case 1: .withoutValue
    case 2: .form(try fields.read())
    default: throw .malformed("it has an unknown content")
    }
  }
}

extension ImportedItem: ListedWireValue {
  package static var leastBytes: Int { 13 }
  package func put(in frame: inout FrameWriter) throws(StoreError) {
    try frame.put(name, form, created, modified, isPrevious, history.map { UInt64(clamping: $0) })
  }
  package static func read(from fields: inout FrameReader) throws(StoreError) -> ImportedItem {
    try ImportedItem(
      name: fields.read(), form: fields.read(), created: fields.read(), modified: fields.read(), isPrevious: fields.flag(),
      history: fields.read(UInt64?.self).map { Int(clamping: $0) })
  }
}

extension VerifyReport: WireValue {
  package func put(in frame: inout FrameWriter) throws(StoreError) {
    for count in [records, items, buckets] { try frame.put(UInt64(clamping: count)) }
  }
  package static func read(from fields: inout FrameReader) throws(StoreError) -> VerifyReport {
    try VerifyReport(records: fields.int(), items: fields.int(), buckets: fields.int())
  }
}

extension ImportReport {
  /// Reads the outcome of an item to add.
  mutating func take(_ fields: inout FrameReader) throws(StoreError) {
    let fate = try fields.number(UInt8.self)
    let name = try fields.read(ItemName.self)
    switch fate {
    case 0: added.append(name)
    case 1: replaced.append(name)
    case 2: kept.append(name)
    default: throw .malformed("it does not say what became of an item")
    }
  }
}

extension DuplicatePolicy {
  /// In the order of their numbers.
  private static let numbered: [DuplicatePolicy] = [.refuse, .replace, .keep, .newer, .replaceWithFields]

  var number: UInt8 { UInt8(Self.numbered.firstIndex(of: self) ?? 0) }

  init(number: UInt8) throws(StoreError) {
    guard Self.numbered.indices.contains(Int(number)) else {
      throw .malformed("it does not say what becomes of duplicates")
    }
    self = Self.numbered[Int(number)]
  }
}

extension PinStatus {
  /// In the order of their numbers.
  private static let numbered: [PinStatus] = [.none, .firstUse, .upToDate, .unchanged, .notWritten]

  fileprivate var number: UInt8 { UInt8(Self.numbered.firstIndex(of: self) ?? 0) }

  fileprivate init?(number: UInt8) {
    guard Self.numbered.indices.contains(Int(number)) else { return nil }
    self = Self.numbered[Int(number)]
  }
}
