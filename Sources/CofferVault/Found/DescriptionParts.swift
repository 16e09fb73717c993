internal import CofferPlatform
internal import CofferVaultFormat
internal import CofferVaultRows

/// The texts of a description, in place in its encoded bytes: see ``RecordMeta/write(to:)``.
///
/// Only for bytes that ``RecordMeta`` has decoded, which checks every length.
struct DescriptionParts {
  let service: UnsafeRawBufferPointer
  let account: UnsafeRawBufferPointer
  /// Empty for an item.
  let field: UnsafeRawBufferPointer
  let label: UnsafeRawBufferPointer
  private let attributes: UnsafeRawBufferPointer
  private let attributeCount: Int

  /// Version, kind, revision, id.
  private static let beforeTexts = 1 + 1 + 8 + 16
  /// Four times, access, history, the value's length.
  private static let afterTexts = 4 * 8 + 1 + 1 + 4

  init(_ bytes: UnsafeRawBufferPointer) {
    var cursor = Cursor(bytes: bytes, at: Self.beforeTexts)
    service = cursor.text()
    account = cursor.text()
    field = cursor.text()
    label = cursor.text()
    _ = cursor.text()  // The content type.
    cursor.at += Self.afterTexts
    attributeCount = Int(bytes[cursor.at])
    attributes = UnsafeRawBufferPointer(rebasing: bytes[(cursor.at + 1)...])
  }

  /// Whether `isWanted` accepts the name and value of an attribute. Skips attributes that callers do not see.
  func hasAttribute(_ isWanted: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Bool) -> Bool {
    var cursor = Cursor(bytes: attributes, at: 0)
    for _ in 0..<attributeCount {
      let (name, value) = (cursor.text(), cursor.text())
      if !Self.isHidden(name), isWanted(name, value) { return true }
    }
    return false
  }

  private static func isHidden(_ name: UnsafeRawBufferPointer) -> Bool {
    name.count == RecordMeta.namedAttribute.utf8.count && name.elementsEqual(RecordMeta.namedAttribute.utf8)
  }

  func nameOrder(_ other: DescriptionParts) -> Int {
    let order = Self.order(service, other.service)
    guard order == 0 else { return order }
    let next = Self.order(account, other.account)
    return next == 0 ? Self.order(field, other.field) : next
  }

  static func order(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int {
    let common = min(left.count, right.count)
    if common > 0, let a = left.baseAddress, let b = right.baseAddress {
      let order = memcmp(a, b, common)
      if order != 0 { return Int(order) }
    }
    return left.count - right.count
  }

  private struct Cursor {
    let bytes: UnsafeRawBufferPointer
    var at: Int

    mutating func text() -> UnsafeRawBufferPointer {
      let count = Int(UInt16(littleEndian: bytes.loadUnaligned(fromByteOffset: at, as: UInt16.self)))
      defer { at += 2 + count }
      return UnsafeRawBufferPointer(rebasing: bytes[(at + 2)..<(at + 2 + count)])
    }
  }
}
