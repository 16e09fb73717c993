internal import CofferPlatform
internal import CofferStorage
internal import FoundationEssentials

enum StorableForm {
  /// The form that a list in `encoding` returns: XML has whole seconds, one zero and one not-a-number. So a set value equals
  /// the value read after a restart.
  static func settled(_ form: PlainForm, in encoding: PropertyList.Encoding) -> PlainForm {
    switch form {
    case .bool, .integer, .string, .data, .argument: return form
    case .unsigned(let number): return Int64(exactly: number).map(PlainForm.integer) ?? form
    case .real(let number):
      guard encoding == .xml else { return form }
      return number.isNaN ? .real(.nan) : number == 0 ? .real(0) : form
    case .date(let date):
      guard encoding == .xml else { return form }
      // Down, as Foundation does: a past moment never moves into the future.
      return .date(Date(timeIntervalSinceReferenceDate: date.timeIntervalSinceReferenceDate.rounded(.down)))
    case .array(let items): return .array(items.map { settled($0, in: encoding) })
    case .dictionary(let items): return .dictionary(items.mapValues { settled($0, in: encoding) })
    }
  }

  /// - Throws: ``/CofferPlatform/StoreError`` `.unencodable`, `.tooLarge`.
  @inline(__always)
  static func check(_ form: PlainForm, for name: String) throws(StoreError) {
    switch form {
    case .bool, .integer, .unsigned, .real: return
    default: try checkContent(form, name)
    }
  }

  private static func checkContent(_ form: PlainForm, _ name: String) throws(StoreError) {
    guard form.byteCount <= Budget.value else {
      throw StoreError(
        .tooLarge(limit: Budget.value), "the value has \(form.byteCount) bytes, over the limit of \(Budget.value)", key: name,
        cure: "keep it in a file, and its path under this key")
    }
    if let why = refusal(of: form, depth: 0) {
      throw StoreError(.unencodable, why, key: name, cure: "store something that XML can express; nothing was changed")
    }
  }

  /// No name has control characters.
  @inline(__always)
  static func check(name: String) throws(StoreError) {
    if !StoredName.isPrintableASCII(name) { try checkFully(name) }
  }

  private static func checkFully(_ name: String) throws(StoreError) {
    try StoredName.check(name)
    guard isExpressible(name) else {
      throw StoreError(
        .invalidName, "the key name contains a character that XML forbids", key: name, cure: "use printable characters only")
    }
  }

  private static func refusal(of form: PlainForm, depth: Int) -> String? {
    guard depth <= Budget.depth else { return "the value is nested more than \(Budget.depth) levels deep" }
    switch form {
    case .bool, .integer, .unsigned, .real, .data: return nil
    case .string(let text): return isExpressible(text) ? nil : forbidden
    case .date(let date): return isInCalendar(date) ? nil : "the date is outside the years 1 to 9999"
    case .array(let items):
      for item in items { if let why = refusal(of: item, depth: depth + 1) { return why } }
      return nil
    case .dictionary(let items):
      for (key, item) in items {
        guard isExpressible(key) else { return forbidden }
        if let why = refusal(of: item, depth: depth + 1) { return why }
      }
      return nil
    case .argument: return "the text of an override is not stored"
    }
  }

  private static let forbidden = "the text contains a character that XML forbids"

  /// XML 1.0, section 2.2: no control characters but tab, line feed and carriage return, no U+FFFE and U+FFFF.
  static func isExpressible(_ text: String) -> Bool {
    text.utf8Span.span.bytes.withUnsafeBytes { bytes in
      var index = 0
      while index < bytes.count {
        if index &+ 8 <= bytes.count, isPrintable(bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)) {
          index &+= 8
          continue
        }
        let byte = bytes[index]
        if byte < 0x20, byte != 0x09, byte != 0x0A, byte != 0x0D { return false }
        if byte == 0xEF, index + 2 < bytes.count, bytes[index + 1] == 0xBF, bytes[index + 2] >= 0xBE { return false }
        index &+= 1
      }
      return true
    }
  }

  /// Whether all eight bytes are ASCII without control characters. With the high bits clear, subtracting 0x20 from each byte
  /// borrows only from smaller ones, which the high bits show.
  @inline(__always)
  private static func isPrintable(_ bytes: UInt64) -> Bool {
    (bytes | (bytes &- 0x2020_2020_2020_2020)) & 0x8080_8080_8080_8080 == 0
  }

  /// ISO 8601 with four-digit years. Year 0 is allowed, because `Date.distantPast` lies in it.
  private static func isInCalendar(_ date: Date) -> Bool { calendar.contains(date.timeIntervalSinceReferenceDate) }

  /// The years 0 to 9999, in seconds since the beginning of 2001.
  static let calendar = -63_145_526_400.0..<252_423_993_600.0
}
