internal import CofferClient
package import CofferPlatform
package import CofferStorage
package import CofferVault
package import FoundationEssentials

/// An argument or an answer in a frame.
package protocol WireValue: Sendable {
  func put(in frame: inout FrameWriter) throws(StoreError)
  static func read(from fields: inout FrameReader) throws(StoreError) -> Self
}

/// An element of a list.
package protocol ListedWireValue: WireValue {
  /// The least bytes of an element, to check a count before any allocation.
  static var leastBytes: Int { get }
}

/// An empty answer.
package struct Nothing: WireValue {
  init(_: Void = ()) {}
  package func put(in frame: inout FrameWriter) throws(StoreError) {}
  package static func read(from fields: inout FrameReader) throws(StoreError) -> Nothing { Nothing() }
}

extension Bool: WireValue {
  package func put(in frame: inout FrameWriter) throws(StoreError) { try frame.put(self) }
  package static func read(from fields: inout FrameReader) throws(StoreError) -> Bool { try fields.flag() }
}

extension UInt64: WireValue {
  package func put(in frame: inout FrameWriter) throws(StoreError) { try frame.put(self) }
  package static func read(from fields: inout FrameReader) throws(StoreError) -> UInt64 { try fields.number() }
}

extension String: ListedWireValue {
  package static var leastBytes: Int { 4 }
  package func put(in frame: inout FrameWriter) throws(StoreError) { try frame.put(self) }
  package static func read(from fields: inout FrameReader) throws(StoreError) -> String { try fields.text() }
}

extension Date: WireValue {
  package func put(in frame: inout FrameWriter) throws(StoreError) { try frame.put(self) }
  package static func read(from fields: inout FrameReader) throws(StoreError) -> Date { try fields.date() }
}

extension ItemName: ListedWireValue {
  package static var leastBytes: Int { 12 }
  package func put(in frame: inout FrameWriter) throws(StoreError) { try frame.put(self) }
  package static func read(from fields: inout FrameReader) throws(StoreError) -> ItemName { try fields.itemName() }
}

extension ItemChange: ListedWireValue {
  package static var leastBytes: Int { 10 }
  package func put(in frame: inout FrameWriter) throws(StoreError) { try frame.put(self) }
  package static func read(from fields: inout FrameReader) throws(StoreError) -> ItemChange { try fields.change() }
}

extension WriteCondition: WireValue {
  package func put(in frame: inout FrameWriter) throws(StoreError) { try frame.put(self) }
  package static func read(from fields: inout FrameReader) throws(StoreError) -> WriteCondition { try fields.condition() }
}

extension PruneRule: WireValue {
  package func put(in frame: inout FrameWriter) throws(StoreError) { try frame.put(self) }
  package static func read(from fields: inout FrameReader) throws(StoreError) -> PruneRule { try fields.pruneRule() }
}

extension TransactionID: WireValue {
  package func put(in frame: inout FrameWriter) throws(StoreError) { try frame.put(self) }
  package static func read(from fields: inout FrameReader) throws(StoreError) -> TransactionID { try fields.transactionID() }
}

extension RecordVersion: WireValue {
  package func put(in frame: inout FrameWriter) throws(StoreError) { try frame.put(self) }
  package static func read(from fields: inout FrameReader) throws(StoreError) -> RecordVersion { try fields.version() }
}

extension SecretForm: WireValue {
  package func put(in frame: inout FrameWriter) throws(StoreError) { try frame.put(self) }
  package static func read(from fields: inout FrameReader) throws(StoreError) -> SecretForm { try fields.form() }
}

extension VaultItem: WireValue {
  package func put(in frame: inout FrameWriter) throws(StoreError) { try frame.put(self) }
  package static func read(from fields: inout FrameReader) throws(StoreError) -> VaultItem { try fields.item() }
}

extension VaultRevision: WireValue {
  package func put(in frame: inout FrameWriter) throws(StoreError) { try frame.put(self) }
  package static func read(from fields: inout FrameReader) throws(StoreError) -> VaultRevision { try fields.revision() }
}

extension VaultLogEntry: WireValue {
  package func put(in frame: inout FrameWriter) throws(StoreError) { try frame.put(self) }
  package static func read(from fields: inout FrameReader) throws(StoreError) -> VaultLogEntry { try fields.logEntry() }
}

extension StoredContent: WireValue {
  package func put(in frame: inout FrameWriter) throws(StoreError) { try frame.put(self) }
  package static func read(from fields: inout FrameReader) throws(StoreError) -> StoredContent { try fields.content() }
}

extension HeldVaultDescription: WireValue {
  package func put(in frame: inout FrameWriter) throws(StoreError) { try frame.put(self) }
  package static func read(from fields: inout FrameReader) throws(StoreError) -> Self { try fields.vaultDescription() }
}

extension Reading<Vault>: WireValue {
  package func put(in frame: inout FrameWriter) throws(StoreError) { try frame.put(self) }
  package static func read(from fields: inout FrameReader) throws(StoreError) -> Reading<Vault> { try fields.reading() }
}

extension VerifyReport: WireValue {
  package func put(in frame: inout FrameWriter) throws(StoreError) {
    for count in [records, items, buckets] { try frame.put(UInt64(clamping: count)) }
  }
  package static func read(from fields: inout FrameReader) throws(StoreError) -> VerifyReport {
    let (records, items, buckets) = (
      try UInt64.read(from: &fields), try UInt64.read(from: &fields), try UInt64.read(from: &fields)
    )
    return VerifyReport(records: Int(clamping: records), items: Int(clamping: items), buckets: Int(clamping: buckets))
  }
}

extension Optional: WireValue where Wrapped: WireValue {
  package func put(in frame: inout FrameWriter) throws(StoreError) { try frame.put(self) }
  package static func read(from fields: inout FrameReader) throws(StoreError) -> Wrapped? { try fields.optional() }
}

extension Array: WireValue where Element: ListedWireValue {
  package func put(in frame: inout FrameWriter) throws(StoreError) {
    try frame.put(UInt32(clamping: count))
    for element in self { try element.put(in: &frame) }
  }
  package static func read(from fields: inout FrameReader) throws(StoreError) -> [Element] {
    var list: [Element] = []
    for _ in 0..<(try fields.countOfNames(ofAtLeast: Element.leastBytes)) { list.append(try Element.read(from: &fields)) }
    return list
  }
}
