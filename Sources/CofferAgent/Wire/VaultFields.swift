internal import CofferClient
internal import CofferPlatform
internal import CofferStorage
internal import CofferVault

// Requests and answers about a whole vault, its export and its import.
extension FrameWriter {
  mutating func put(_ query: ItemQuery) throws(StoreError) {
    try put(query.service)
    try put(query.otherThan)
    try query.texts.put(in: &self)
    try put(UInt32(clamping: query.attributes.count))
    for attribute in query.attributes {
      try put(attribute.name)
      try put(attribute.value)
    }
    try query.attributeNames.put(in: &self)
    try put(query.besides != nil)
    if let mark = query.besides {
      try put(mark.name)
      try put(mark.value)
    }
    try put(query.ofFields)
    try put(query.isUse)
  }

  mutating func put(_ entry: VaultLogEntry) throws(StoreError) {
    try put(entry.sequence)
    try put(entry.date)
    try put(entry.event.rawValue)
    try put(entry.user)
    try put(entry.process)
    try put(entry.program)
    try put(entry.item)
    try put(entry.index)
    try put(entry.slot)
    try put(entry.openedWith)
  }

  mutating func put(_ description: HeldVaultDescription) throws(StoreError) {
    let status = description.status
    for number in [UInt64(clamping: status.items), status.generation, status.epoch] { try put(number) }
    try put(status.created)
    try put(status.rotated)
    try put(status.oldBytesRemain)
    try put(description.pin.number)
    for number in [description.log, description.lockedBytes, description.unlockedBytes] { try put(UInt64(clamping: number)) }
    try put(UInt32(clamping: status.slots.count))
    for slot in status.slots {
      try put(slot.summary.id.bytes)
      try put(slot.summary.kind.rawValue)
      try put(slot.summary.passes)
      try put(slot.summary.mebibytes)
      try put(slot.label)
      try put(slot.isInUse)
    }
  }

  mutating func put(_ content: StoredContent) throws(StoreError) {
    switch content {
    case .absent: try put(0 as UInt8)
    case .withoutValue: try put(1 as UInt8)
    case .form(let form):
      try put(2 as UInt8)
      try put(form)
    }
  }

  mutating func put(_ item: ImportedItem) throws(StoreError) {
    try put(item.name)
    try put(item.form)
    try put(item.created)
    try put(item.modified)
    try put(item.isPrevious)
    try put(item.history.map { UInt64(clamping: $0) })
  }
}

extension FrameReader {
  mutating func query() throws(StoreError) -> ItemQuery {
    var query = ItemQuery(service: try optional())
    query.otherThan = try optional()
    query.texts = try .read(from: &self)
    for _ in 0..<(try countOfNames(ofAtLeast: 8)) { query.attributes.append(ItemQuery.Attribute(try text(), try text())) }
    query.attributeNames = try .read(from: &self)
    if try flag() { query.besides = ItemQuery.Mark(try text(), try optional()) }
    query.ofFields = try flag()
    query.isUse = try flag()
    return query
  }

  mutating func logEntry() throws(StoreError) -> VaultLogEntry {
    try VaultLogEntry(
      sequence: number(), date: date(), event: VaultLogEntry.Event(rawValue: text()) ?? .unknown, user: number(),
      process: number(), program: text(), item: optional(), index: optional(), slot: optional(),
      openedWith: text())
  }

  mutating func vaultDescription() throws(StoreError) -> HeldVaultDescription {
    let (items, generation, epoch) = (try number(UInt64.self), try number(UInt64.self), try number(UInt64.self))
    let (created, rotated, oldBytesRemain) = (try date(), try date(), try flag())
    guard let pin = PinStatus(number: try number()) else { throw Self.malformed("it has an unknown state of a pin") }
    let (log, locked, unlocked) = (try number(UInt64.self), try number(UInt64.self), try number(UInt64.self))
    var slots: [VaultStatus.Slot] = []
    for _ in 0..<(try count(ofAtLeast: 14)) { slots.append(try slot()) }
    return HeldVaultDescription(
      status: VaultStatus(
        items: Int(clamping: items), generation: generation, epoch: epoch, created: created, rotated: rotated, slots: slots,
        oldBytesRemain: oldBytesRemain),
      pin: pin, log: Int(clamping: log), lockedBytes: Int(clamping: locked), unlockedBytes: Int(clamping: unlocked))
  }

  private mutating func slot() throws(StoreError) -> VaultStatus.Slot {
    let id = SlotSummary.ID(bytes: try plainBytes(limit: 16))
    guard let kind = SlotKind(rawValue: try number()) else { throw Self.malformed("it has an unknown kind of slot") }
    return try VaultStatus.Slot(
      summary: SlotSummary(id: id, kind: kind, passes: number(), mebibytes: number()), label: text(), isInUse: flag())
  }

  mutating func content() throws(StoreError) -> StoredContent {
    switch try number(UInt8.self) {
    case 0: .absent
    case 1: .withoutValue
    case 2: .form(try form())
    default: throw Self.malformed("it has an unknown content")
    }
  }

  mutating func importedItems() throws(StoreError) -> [ImportedItem] {
    var items: [ImportedItem] = []
    for _ in 0..<(try countOfNames(ofAtLeast: 13)) {
      items.append(
        try ImportedItem(
          name: itemName(), form: form(), created: optional(), modified: optional(), isPrevious: flag(),
          history: (optional() as UInt64?).map { Int(clamping: $0) }))
    }
    return items
  }
}

extension ImportReport {
  /// Reads the outcome of an item to add.
  mutating func take(_ fields: inout FrameReader) throws(StoreError) {
    let fate = try fields.number(UInt8.self)
    let name = try fields.itemName()
    switch fate {
    case 0: added.append(name)
    case 1: replaced.append(name)
    case 2: kept.append(name)
    default: throw FrameReader.malformed("it does not say what became of an item")
    }
  }
}

extension DuplicatePolicy {
  /// In the order of their numbers.
  private static let numbered: [DuplicatePolicy] = [.refuse, .replace, .keep, .newer, .replaceWithFields]

  var number: UInt8 { UInt8(Self.numbered.firstIndex(of: self) ?? 0) }

  init(number: UInt8) throws(StoreError) {
    guard Self.numbered.indices.contains(Int(number)) else {
      throw FrameReader.malformed("it does not say what becomes of duplicates")
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
