package import CofferPlatform
package import CofferStorage
package import FoundationEssentials

/// The limits of items, checked before sealing.
package enum RecordLimits {
  /// In bytes: sealing holds a value twice in guarded memory, plain and padded, and the usual `RLIMIT_MEMLOCK` is 8 MiB.
  package static let largestValue = 2 * 1024 * 1024

  /// - Throws: `.tooLarge`.
  package static func checkValue(_ count: Int) throws(StoreError) { try check(count, largestValue, "a value") }

  /// - Throws: `.tooLarge`.
  package static func history(_ count: Int) throws(StoreError) -> UInt8 {
    guard let history = UInt8(exactly: count), history <= RecordMeta.longestHistory else {
      throw StoreError(
        .tooLarge(limit: Int(RecordMeta.longestHistory)), "a history of \(count) versions is too long",
        cure: "keep 0 to \(RecordMeta.longestHistory)")
    }
    return history
  }

  /// - Throws: `.tooLarge`.
  package static func check(slotLabel label: String) throws(StoreError) {
    try check(label.utf8.count, HeaderBody.longestLabel, "a slot's label")
  }

  /// - Throws: `.tooLarge` for a field beyond its limit, `.invalidName` for an attribute without a name.
  package static func check(_ metadata: ItemMetadata) throws(StoreError) {
    try check(metadata.label.utf8.count, RecordMeta.longestLabel, "a label")
    try check(metadata.contentType.utf8.count, RecordMeta.longestContentType, "a content type")
    guard metadata.attributes.count <= RecordMeta.mostAttributes else {
      throw StoreError(
        .tooLarge(limit: RecordMeta.mostAttributes), "the item has \(metadata.attributes.count) attributes",
        cure: "give an item at most \(RecordMeta.mostAttributes) attributes")
    }
    for (name, value) in metadata.attributes {
      guard !name.isEmpty else {
        throw StoreError(.invalidName, "an attribute has no name", cure: "name every attribute")
      }
      try check(name.utf8.count, RecordMeta.longestAttributeName, "an attribute's name")
      try check(value.utf8.count, RecordMeta.longestAttribute, "an attribute")
    }
  }

  /// - Throws: `.tooLarge` if the whole description is too large.
  package static func check(_ meta: RecordMeta) throws(StoreError) {
    try check(meta.limitedCount, RecordMeta.largest, "an item's description")
  }

  private static func check(_ count: Int, _ limit: Int, _ what: String) throws(StoreError) {
    guard count <= limit else {
      throw StoreError(.tooLarge(limit: limit), "\(what) has \(count) bytes", cure: "use at most \(limit) bytes")
    }
  }
}

extension RecordMeta {
  package var name: ItemName { ItemName(sealed: service, account, field: field) }

  /// The metadata for callers. If two attribute names differ in bytes but are equal to Swift, which only another writer can
  /// cause, callers see the first; both stay until the attributes are set again.
  package var itemMetadata: ItemMetadata {
    let named = Dictionary(describingAttributes.lazy.map { ($0.name, $0.value) }) { first, _ in first }
    return ItemMetadata(
      label: label, contentType: contentType, attributes: named, expires: expires == 0 ? nil : Milliseconds.date(expires))
  }

  /// The time of the name stays.
  package mutating func take(_ metadata: ItemMetadata) {
    let named = named
    defer { self.named = named }
    label = metadata.label
    contentType = metadata.contentType
    expires = metadata.expires.map(Milliseconds.count) ?? 0
    setAttributes(metadata.attributes.map { Attribute(name: $0.key, value: $0.value) })
  }
}

/// The format's times: milliseconds since 1970, 0 for none.
package enum Milliseconds {
  package static func date(_ count: UInt64) -> Date { Date(timeIntervalSince1970: Double(count) / 1000) }

  /// 0 for a date without end.
  package static func until(_ date: Date) -> UInt64 { date == .distantFuture ? 0 : count(date) }

  /// At least 1, so a date never reads as none; dates out of range are clamped.
  package static func count(_ date: Date) -> UInt64 {
    let count = (date.timeIntervalSince1970 * 1000).rounded()
    guard count >= 1 else { return 1 }
    return count < Double(FileCounter.most) ? UInt64(count) : FileCounter.most
  }
}
