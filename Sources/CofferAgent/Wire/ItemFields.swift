internal import CofferClient
internal import CofferMemory
internal import CofferPlatform
internal import CofferStorage
internal import CofferVault
internal import FoundationEssentials

extension FrameWriter {
  mutating func put(_ name: ItemName) throws(StoreError) {
    try put(name.service)
    try put(name.account)
    try put(name.field)
  }

  /// Seconds since 1970, as the bits of a double, to avoid rounding.
  mutating func put(_ date: Date) throws(StoreError) { try put(date.timeIntervalSince1970.bitPattern) }

  mutating func put(_ metadata: ItemMetadata) throws(StoreError) {
    try put(metadata.label)
    try put(metadata.contentType)
    try put(metadata.expires)
    try put(UInt32(clamping: metadata.attributes.count))
    for (name, value) in metadata.attributes {
      try put(name)
      try put(value)
    }
  }

  mutating func put(_ id: UUID) throws(StoreError) { try put(withUnsafeBytes(of: id.uuid) { [UInt8]($0) }) }

  mutating func put(_ item: VaultItem) throws(StoreError) {
    try put(item.id)
    try put(item.name)
    try put(item.metadata)
    try put(item.created)
    try put(item.modified)
    try put(item.written)
    try put(item.revision)
    try put(UInt64(clamping: item.valueBytes))
    try put(UInt32(clamping: item.history))
  }

  mutating func put(_ revision: VaultRevision) throws(StoreError) {
    try put(revision.item)
    switch revision.state {
    case .present: try put(0 as UInt8)
    case .former: try put(1 as UInt8)
    case .deleted: try put(2 as UInt8)
    }
    try put(revision.until)
  }

  mutating func put(_ rule: PruneRule) throws(StoreError) {
    switch rule {
    case .olderThan(let date):
      try put(0 as UInt8)
      try put(date)
    case .allBut(let count):
      try put(1 as UInt8)
      try put(UInt32(clamping: count))
    case .expired: try put(2 as UInt8)
    }
  }

  mutating func put(_ form: SecretForm) throws(StoreError) {
    guard form.bytes.isIntact else {
      throw StoreError(.afterFork, "the value is gone from this forked process", cure: "read it again in this process")
    }
    try put(form.metadata)
    try put(form.bytes)
  }

  mutating func put(_ condition: WriteCondition) throws(StoreError) {
    switch condition {
    case .always: try put(0 as UInt8)
    case .absent: try put(1 as UInt8)
    case .revision(let revision):
      try put(2 as UInt8)
      try put(revision)
    case .item(let id, let revision):
      try put(3 as UInt8)
      try put(id)
      try put(revision)
    }
  }

  mutating func put(_ change: ItemChange) throws(StoreError) {
    switch change {
    case .set(let form, let name, let condition, let keeping):
      try put(1 as UInt8)
      try put(name)
      try put(condition)
      try put(form)
      try put(keeping != nil)
      // An invalid number of versions stays invalid: the vault refuses both.
      if let keeping { try put(UInt32(exactly: keeping) ?? .max) }
    case .describe(let name, let metadata, let condition, let keeping):
      try put(3 as UInt8)
      try put(name)
      try put(condition)
      try put(metadata)
      try put(keeping != nil)
      if let keeping { try put(UInt32(exactly: keeping) ?? .max) }
    case .remove(let name, let condition, let date):
      try put(0 as UInt8)
      try put(name)
      try put(condition)
      try put(date)
    case .move(let name, let new, let condition):
      try put(2 as UInt8)
      try put(name)
      try put(condition)
      try put(new)
    case .undelete(let name):
      try put(4 as UInt8)
      try put(name)
      try put(.absent as WriteCondition)
    }
  }

  mutating func put(_ id: TransactionID) throws(StoreError) { try put(id.bytes) }
  mutating func put(_ version: RecordVersion) throws(StoreError) { try put(version.bytes) }

  mutating func put(_ reading: Reading<Vault>) throws(StoreError) {
    try put(reading.stamp)
    try put(reading.form)
  }

  mutating func put(_ batch: Batch<Vault>) throws(StoreError) {
    try put(UInt32(clamping: batch.expectations.count))
    for (name, version) in batch.expectations {
      try put(name)
      try put(version)
    }
    try put(UInt32(clamping: batch.writes.count))
    for (name, write) in batch.writes {
      try put(name)
      try put(write.form)
    }
    try put(batch.decides != nil)
    if let id = batch.decides { try put(id) }
  }
}

extension FrameReader {
  /// The name of an existing item, perhaps invalid for new ones.
  mutating func itemName() throws(StoreError) -> ItemName { try ItemName(sealed: text(), text(), field: text()) }

  /// A name for a new item.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/invalidName``.
  mutating func newName() throws(StoreError) -> ItemName { try Self.checked(itemName()) }

  private static func checked(_ name: ItemName) throws(StoreError) -> ItemName {
    let item = try ItemName(service: name.service, account: name.account)
    return name.field.isEmpty ? item : try item.field(named: name.field)
  }

  mutating func date() throws(StoreError) -> Date {
    let seconds = Double(bitPattern: try number(UInt64.self))
    guard seconds.isFinite else { throw Self.malformed("a time is not a number") }
    return Date(timeIntervalSince1970: seconds)
  }

  mutating func metadata() throws(StoreError) -> ItemMetadata {
    var metadata = ItemMetadata(label: try text(), contentType: try text())
    metadata.expires = try optional()
    for _ in 0..<(try count(ofAtLeast: 8)) {
      let name = try text()
      guard metadata.attributes.updateValue(try text(), forKey: name) == nil else {
        throw Self.malformed("an attribute is named twice")
      }
    }
    return metadata
  }

  private mutating func itemID() throws(StoreError) -> UUID {
    let bytes = try plainBytes(limit: 16)
    guard bytes.count == 16 else { throw Self.malformed("an item's id has not 16 bytes") }
    return bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
  }

  mutating func item() throws(StoreError) -> VaultItem {
    try VaultItem(
      id: itemID(), name: itemName(), metadata: metadata(), created: date(), modified: date(), written: date(),
      revision: number(),
      valueBytes: Int(clamping: number(UInt64.self)), history: Int(number(UInt32.self)))
  }

  mutating func revision() throws(StoreError) -> VaultRevision {
    let item = try item()
    let state: VaultRevision.State
    switch try number(UInt8.self) {
    case 0: state = .present
    case 1: state = .former
    case 2: state = .deleted
    default: throw Self.malformed("it has an unknown state of a revision")
    }
    return VaultRevision(item: item, state: state, until: try optional())
  }

  mutating func pruneRule() throws(StoreError) -> PruneRule {
    switch try number(UInt8.self) {
    case 0: .olderThan(try date())
    case 1: .allBut(Int(try number(UInt32.self)))
    case 2: .expired
    default: throw Self.malformed("it has an unknown rule")
    }
  }

  mutating func form() throws(StoreError) -> SecretForm {
    let metadata = try metadata()
    return SecretForm(try secret(), metadata: metadata)
  }

  mutating func condition() throws(StoreError) -> WriteCondition {
    switch try number(UInt8.self) {
    case 0: .always
    case 1: .absent
    case 2: .revision(try number())
    case 3: .item(try itemID(), revision: try number())
    default: throw Self.malformed("it has an unknown condition")
    }
  }

  mutating func change() throws(StoreError) -> ItemChange {
    let kind = try number(UInt8.self)
    let name = try itemName()
    let condition = try condition()
    switch kind {
    case 0: return .remove(name, if: condition, keptUntil: try optional())
    case 1:
      return .set(try form(), for: try Self.checked(name), if: condition, keeping: try flag() ? Int(number(UInt32.self)) : nil)
    case 2: return .move(name, to: try newName(), if: condition)
    case 3: return .describe(name, as: try metadata(), if: condition, keeping: try flag() ? Int(number(UInt32.self)) : nil)
    case 4 where condition == .absent: return .undelete(name)
    default: throw Self.malformed("it has an unknown change")
    }
  }

  /// The most bytes of a record's version, as ``RecordVersion`` promises.
  private static var longestVersion: Int { 32 }

  mutating func transactionID() throws(StoreError) -> TransactionID {
    guard let id = TransactionID(try plainBytes(limit: 16)) else { throw Self.malformed("a transaction's id has not 16 bytes") }
    return id
  }

  mutating func version() throws(StoreError) -> RecordVersion { RecordVersion(try plainBytes(limit: Self.longestVersion)) }

  mutating func reading() throws(StoreError) -> Reading<Vault> {
    let stamp = try version()
    return Reading(form: try optional(), stamp: stamp)
  }

  mutating func batch() throws(StoreError) -> Batch<Vault> {
    var batch = Batch<Vault>()
    for _ in 0..<(try countOfNames(ofAtLeast: 8)) {
      let name = try text()
      guard batch.expectations.updateValue(try version(), forKey: name) == nil else {
        throw Self.malformed("a version of a name is expected twice")
      }
    }
    for _ in 0..<(try countOfNames(ofAtLeast: 5)) {
      let name = try text()
      guard batch.writes.updateValue(Write(try optional()), forKey: name) == nil else {
        throw Self.malformed("a name is written twice")
      }
    }
    if try flag() { batch.decides = try transactionID() }
    return batch
  }
}
