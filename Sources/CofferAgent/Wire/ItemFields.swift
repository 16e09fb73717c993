internal import CofferClient
internal import CofferMemory
package import CofferPlatform
package import CofferStorage
package import CofferVault
internal import FoundationEssentials

extension ItemName: ListedWireValue {
  package static var leastBytes: Int { 12 }
  package func put(in frame: inout FrameWriter) throws(StoreError) { try frame.put(service, account, field) }
  /// The name of an existing item, perhaps invalid for new ones.
  package static func read(from fields: inout FrameReader) throws(StoreError) -> ItemName {
    try ItemName(sealed: fields.text(), fields.text(), field: fields.text())
  }

  /// As the name of a new item.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/invalidName``.
  func checked() throws(StoreError) -> ItemName {
    let item = try ItemName(service: service, account: account)
    return field.isEmpty ? item : try item.field(named: field)
  }
}

extension ItemMetadata: WireValue {
  package func put(in frame: inout FrameWriter) throws(StoreError) {
    try frame.put(label, contentType, expires, UInt32(clamping: attributes.count))
    for (name, value) in attributes { try frame.put(name, value) }
  }
  package static func read(from fields: inout FrameReader) throws(StoreError) -> ItemMetadata {
    var metadata = ItemMetadata(label: try fields.text(), contentType: try fields.text())
    metadata.expires = try fields.read()
    for _ in 0..<(try fields.count(ofAtLeast: 8)) {
      let name = try fields.text()
      guard metadata.attributes.updateValue(try fields.text(), forKey: name) == nil else {
        throw .malformed("an attribute is named twice")
      }
    }
    return metadata
  }
}

extension VaultItem: WireValue {
  package func put(in frame: inout FrameWriter) throws(StoreError) {
    try frame.put(
      id, name, metadata, created, modified, written, revision, UInt64(clamping: valueBytes), UInt32(clamping: history))
  }
  package static func read(from fields: inout FrameReader) throws(StoreError) -> VaultItem {
    try VaultItem(
      id: fields.read(), name: fields.read(), metadata: fields.read(), created: fields.read(), modified: fields.read(),
      written: fields.read(), revision: fields.number(), valueBytes: fields.int(), history: Int(fields.number(UInt32.self)))
  }
}

extension VaultRevision: WireValue {
  /// In the order of their numbers.
  private static let states: [State] = [.present, .former, .deleted]

  package func put(in frame: inout FrameWriter) throws(StoreError) {
    try frame.put(item, UInt8(Self.states.firstIndex(of: state) ?? 0), until)
  }
  package static func read(from fields: inout FrameReader) throws(StoreError) -> VaultRevision {
    let (item, state) = (try fields.read(VaultItem.self), Int(try fields.number(UInt8.self)))
    guard states.indices.contains(state) else { throw .malformed("it has an unknown state of a revision") }
    return VaultRevision(item: item, state: states[state], until: try fields.read())
  }
}

extension PruneRule: WireValue {
  package func put(in frame: inout FrameWriter) throws(StoreError) {
    switch self {
    case .olderThan(let date): try frame.put(0 as UInt8, date)
    case .allBut(let count): try frame.put(1 as UInt8, UInt32(clamping: count))
    case .expired: try frame.put(2 as UInt8)
    }
  }
  package static func read(from fields: inout FrameReader) throws(StoreError) -> PruneRule {
    switch try fields.number(UInt8.self) {
    case 0: .olderThan(try fields.read())
    case 1: .allBut(Int(try fields.number(UInt32.self)))
    case 2: .expired
    default: throw .malformed("it has an unknown rule")
    }
  }
}

extension SecretForm: WireValue {
  package func put(in frame: inout FrameWriter) throws(StoreError) {
    guard bytes.isIntact else {
      throw StoreError(.afterFork, "the value is gone from this forked process", cure: "read it again in this process")
    }
    try frame.put(metadata)
    try frame.put(bytes)
  }
  package static func read(from fields: inout FrameReader) throws(StoreError) -> SecretForm {
    let metadata = try fields.read(ItemMetadata.self)
    return SecretForm(try fields.secret(), metadata: metadata)
  }
}

extension WriteCondition: WireValue {
  package func put(in frame: inout FrameWriter) throws(StoreError) {
    switch self {
    case .always: try frame.put(0 as UInt8)
    case .absent: try frame.put(1 as UInt8)
    case .revision(let revision): try frame.put(2 as UInt8, revision)
    case .item(let id, let revision): try frame.put(3 as UInt8, id, revision)
    }
  }
  package static func read(from fields: inout FrameReader) throws(StoreError) -> WriteCondition {
    switch try fields.number(UInt8.self) {
    case 0: .always
    case 1: .absent
    case 2: .revision(try fields.number())
    case 3: .item(try fields.read(), revision: try fields.number())
    default: throw .malformed("it has an unknown condition")
    }
  }
}

extension ItemChange: ListedWireValue {
  package static var leastBytes: Int { 10 }
  package func put(in frame: inout FrameWriter) throws(StoreError) {
    switch self {
    case .remove(let name, let condition, let date): try frame.put(0 as UInt8, name, condition, date)
    case .set(let form, let name, let condition, let keeping):
      try frame.put(1 as UInt8, name, condition, form, Self.sent(keeping))
    case .move(let name, let new, let condition): try frame.put(2 as UInt8, name, condition, new)
    case .describe(let name, let metadata, let condition, let keeping):
      try frame.put(3 as UInt8, name, condition, metadata, Self.sent(keeping))
    case .undelete(let name): try frame.put(4 as UInt8, name, WriteCondition.absent)
    }
  }

  /// An invalid number of versions stays invalid: the vault refuses both.
  private static func sent(_ keeping: Int?) -> UInt32? { keeping.map { UInt32(exactly: $0) ?? .max } }

  package static func read(from fields: inout FrameReader) throws(StoreError) -> ItemChange {
    let kind = try fields.number(UInt8.self)
    let (name, condition) = (try fields.read(ItemName.self), try fields.read(WriteCondition.self))
    switch kind {
    case 0: return .remove(name, if: condition, keptUntil: try fields.read())
    case 1:
      return .set(
        try fields.read(), for: try name.checked(), if: condition, keeping: try fields.read(UInt32?.self).map { Int($0) })
    case 2: return .move(name, to: try fields.read(ItemName.self).checked(), if: condition)
    case 3:
      return .describe(name, as: try fields.read(), if: condition, keeping: try fields.read(UInt32?.self).map { Int($0) })
    case 4 where condition == .absent: return .undelete(name)
    default: throw .malformed("it has an unknown change")
    }
  }
}

extension TransactionID: WireValue {
  package func put(in frame: inout FrameWriter) throws(StoreError) { try frame.put(bytes) }
  package static func read(from fields: inout FrameReader) throws(StoreError) -> TransactionID {
    guard let id = TransactionID(try fields.plainBytes(limit: 16)) else {
      throw .malformed("a transaction's id has not 16 bytes")
    }
    return id
  }
}

extension RecordVersion: WireValue {
  /// The most bytes, as ``RecordVersion`` promises.
  private static let longest = 32

  package func put(in frame: inout FrameWriter) throws(StoreError) { try frame.put(bytes) }
  package static func read(from fields: inout FrameReader) throws(StoreError) -> RecordVersion {
    RecordVersion(try fields.plainBytes(limit: longest))
  }
}

extension Reading<Vault>: WireValue {
  package func put(in frame: inout FrameWriter) throws(StoreError) { try frame.put(stamp, form) }
  package static func read(from fields: inout FrameReader) throws(StoreError) -> Reading<Vault> {
    let stamp = try fields.read(RecordVersion.self)
    return Reading(form: try fields.read(), stamp: stamp)
  }
}

extension Batch<Vault>: WireValue {
  package func put(in frame: inout FrameWriter) throws(StoreError) {
    try frame.put(UInt32(clamping: expectations.count))
    for (name, version) in expectations { try frame.put(name, version) }
    try frame.put(UInt32(clamping: writes.count))
    for (name, write) in writes { try frame.put(name, write.form) }
    try frame.put(decides)
  }
  package static func read(from fields: inout FrameReader) throws(StoreError) -> Batch<Vault> {
    var batch = Batch<Vault>()
    for _ in 0..<(try fields.countOfNames(ofAtLeast: 8)) {
      let name = try fields.text()
      guard batch.expectations.updateValue(try fields.read(), forKey: name) == nil else {
        throw .malformed("a version of a name is expected twice")
      }
    }
    for _ in 0..<(try fields.countOfNames(ofAtLeast: 5)) {
      let name = try fields.text()
      guard batch.writes.updateValue(Write(try fields.read()), forKey: name) == nil else {
        throw .malformed("a name is written twice")
      }
    }
    batch.decides = try fields.read()
    return batch
  }
}
