internal import CofferVaultFormat

/// Conditions on the descriptions of items. All given ones must hold, except for items with the mark ``besides``.
package struct ItemQuery: Sendable, Equatable {
  /// The exact service.
  package var service: String?
  /// A service to leave out.
  package var otherThan: String?
  /// Texts to find in the service, the account, the label, or the name or value of an attribute, ignoring case.
  package var texts: [String] = []
  /// Required attributes with exactly these values.
  package var attributes: [Attribute] = []
  /// Required attributes, with any value.
  package var attributeNames: [String] = []
  /// A mark of items that are also found, whatever else is required.
  package var besides: Mark?
  /// Whether the query counts as a use of the vault, which keeps an agent unlocked for a while.
  package var isUse = true

  /// Whether to find fields instead of items; the other conditions then apply to the field.
  package var ofFields = false

  package struct Attribute: Sendable, Equatable {
    package let name: String
    package let value: String

    package init(_ name: String, _ value: String) {
      self.name = name
      self.value = value
    }
  }

  /// An attribute that items are found by, with this value, or any if nil.
  package struct Mark: Sendable, Equatable {
    package let name: String
    package let value: String?

    package init(_ name: String, _ value: String? = nil) {
      self.name = name
      self.value = value
    }
  }

  package init(service: String? = nil, otherThan: String? = nil) { (self.service, self.otherThan) = (service, otherThan) }
}

/// A query that is compared with descriptions in place, without copying each text.
struct ItemMatcher {
  private let service: String?
  private let otherThan: String?
  private let texts: [Text]
  private let attributes: [ItemQuery.Attribute]
  private let names: [String]
  private let besides: ItemQuery.Mark?

  private struct Text {
    let folded: String
    /// Nil unless all bytes are ASCII: most texts can then be compared byte by byte.
    let bytes: [UInt8]?

    init(_ text: String) {
      folded = text.lowercased()
      let bytes = Array(folded.utf8)
      self.bytes = bytes.allSatisfy { $0 < 0x80 && $0 != 0x0D } ? bytes : nil
    }
  }

  init(_ query: ItemQuery) {
    service = query.service
    otherThan = query.otherThan
    texts = query.texts.map(Text.init)
    attributes = query.attributes
    names = query.attributeNames
    besides = query.besides
  }

  func matches(_ item: DescriptionParts) -> Bool {
    if let besides, item.hasAttribute({ Self.isEqual($0, besides.name) && Self.hasValue($1, besides) }) {
      return true
    }
    return holds(for: item)
  }

  private func holds(for item: DescriptionParts) -> Bool {
    if let service, !Self.isSame(item.service, service) { return false }
    if let otherThan, Self.isSame(item.service, otherThan) { return false }
    return attributes.allSatisfy { wanted in
      item.hasAttribute { Self.isEqual($0, wanted.name) && Self.isEqual($1, wanted.value) }
    } && names.allSatisfy { name in item.hasAttribute { found, _ in Self.isEqual(found, name) } }
      && texts.allSatisfy { Self.contains(item, $0) }
  }

  private static func contains(_ item: DescriptionParts, _ text: Text) -> Bool {
    contains(item.service, text) || contains(item.account, text) || contains(item.label, text)
      || item.hasAttribute { contains($0, text) || contains($1, text) }
  }

  private static func contains(_ raw: UnsafeRawBufferPointer, _ text: Text) -> Bool {
    guard let wanted = text.bytes, isPlain(raw) else {
      return String(decoding: raw, as: UTF8.self).lowercased().contains(text.folded)
    }
    guard let first = wanted.first else { return true }
    guard raw.count >= wanted.count else { return false }
    for start in 0...(raw.count - wanted.count) where lowered(raw[start]) == first {
      var at = 1
      while at < wanted.count, lowered(raw[start + at]) == wanted[at] { at += 1 }
      if at == wanted.count { return true }
    }
    return false
  }

  /// Whether each byte is a character: a carriage return and a newline are one together.
  private static func isPlain(_ raw: UnsafeRawBufferPointer) -> Bool { raw.allSatisfy { $0 < 0x80 && $0 != 0x0D } }

  private static func lowered(_ byte: UInt8) -> UInt8 {
    byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") ? byte | 0x20 : byte
  }

  private static func isSame(_ raw: UnsafeRawBufferPointer, _ text: String) -> Bool {
    raw.count == text.utf8.count && text.utf8Span.span.bytes.withUnsafeBytes { DescriptionParts.order(raw, $0) == 0 }
  }

  private static func hasValue(_ raw: UnsafeRawBufferPointer, _ mark: ItemQuery.Mark) -> Bool {
    guard let value = mark.value else { return true }
    return isEqual(raw, value)
  }

  /// Whether both are the same text, even in different bytes.
  private static func isEqual(_ raw: UnsafeRawBufferPointer, _ text: String) -> Bool {
    if isSame(raw, text) { return true }
    // A text with bytes beyond ASCII has more of them.
    guard raw.count > text.utf8.count || !text.utf8.allSatisfy({ $0 < 0x80 }) else { return false }
    guard !isPlain(raw) || !text.utf8.allSatisfy({ $0 < 0x80 }) else { return false }
    return String(decoding: raw, as: UTF8.self) == text
  }
}
