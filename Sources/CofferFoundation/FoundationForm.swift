internal import CofferPlatform
internal import CofferStorage
internal import Foundation

/// The step between plain forms and what `UserDefaults` takes and gives.
enum FoundationForm {
  /// Throws unless a property list can hold `form`.
  static func check(_ form: PlainForm, _ name: String, _ place: String) throws(StoreError) {
    guard !holdsForbiddenText(form) else {
      throw StoreError(
        .unencodable, "text with characters that XML cannot hold", key: name, place: place,
        cure: "store it as data; nothing was changed")
    }
    guard !holdsForbiddenDate(form) else {
      throw StoreError(
        .unencodable, "a date that Foundation would write as another, or that makes its file unreadable", key: name, place: place,
        cure: "store its number of seconds; nothing was changed")
    }
  }

  /// Seconds from 1970, before and after. Foundation counts years in 32 bits, which end at some 6.8e16 seconds: a later date is
  /// written as another one. An infinite one is written as a date that no reader takes, and the suite's other values go with it.
  private static let dateLimit = 1e16

  private static func holdsForbiddenDate(_ form: PlainForm) -> Bool {
    switch form {
    case .date(let date): !(abs(date.timeIntervalSince1970) <= dateLimit)
    case .array(let items): items.contains(where: holdsForbiddenDate)
    case .dictionary(let items): items.values.contains(where: holdsForbiddenDate)
    case .bool, .integer, .unsigned, .real, .string, .argument, .data: false
    }
  }

  private static func holdsForbiddenText(_ form: PlainForm) -> Bool {
    switch form {
    case .string(let text), .argument(let text): text.unicodeScalars.contains { !isAllowed($0) }
    case .array(let items): items.contains(where: holdsForbiddenText)
    case .dictionary(let items):
      items.contains { holdsForbiddenText(.string($0.key)) || holdsForbiddenText($0.value) }
    case .bool, .integer, .unsigned, .real, .date, .data: false
    }
  }

  // Source: XML 1.0, section 2.2, production Char.
  private static func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x9, 0xA, 0xD: true
    case 0..<0x20, 0xFFFE, 0xFFFF: false
    default: true
    }
  }

  static func object(of form: PlainForm) -> Any {
    switch form {
    case .bool(let value): NSNumber(value: value)
    case .integer(let value): NSNumber(value: value)
    case .unsigned(let value): NSNumber(value: value)
    case .real(let value): NSNumber(value: value)
    case .string(let value), .argument(let value): value
    case .date(let value): value
    case .data(let value): value
    case .array(let items): items.map(object)
    case .dictionary(let items): items.mapValues(object)
    }
  }

  /// Nil for a value that no preference can have.
  static func form(of value: Any) -> PlainForm? {
    switch value {
    case let text as String: return .string(text)
    case let number as NSNumber: return numericForm(of: number)
    case let data as Data: return .data(data)
    case let date as Date: return .date(date)
    case let url as URL: return .string(url.absoluteString)
    case let items as [Any]:
      let forms = items.compactMap(form)
      return forms.count == items.count ? .array(forms) : nil
    case let items as [String: Any]:
      let forms = items.compactMapValues(form)
      return forms.count == items.count ? .dictionary(forms) : nil
    default: return nil
    }
  }

  /// Only the encoded type tells true from 1 and 1 from 1.0: every numeric cast succeeds for each of them.
  private static func numericForm(of number: NSNumber) -> PlainForm {
    switch UInt8(bitPattern: number.objCType.pointee) {
    case UInt8(ascii: "c"), UInt8(ascii: "B"): .bool(number.boolValue)
    case UInt8(ascii: "f"), UInt8(ascii: "d"): .real(number.doubleValue)
    case UInt8(ascii: "Q"): Int64(exactly: number.uint64Value).map(PlainForm.integer) ?? .unsigned(number.uint64Value)
    default: .integer(number.int64Value)
    }
  }
}
