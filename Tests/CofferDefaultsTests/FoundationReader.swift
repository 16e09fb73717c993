import CofferStorage
import Foundation

/// Foundation's values of a property list, named as in this library.
enum FoundationReader {
  struct Refused: Error {}

  static func read(_ data: Data) throws -> PlainForm {
    // Converting a set to Swift ends the process (Swift 6.3 on Linux), and a damaged byte can turn anything into one.
    guard !data.starts(with: Data("bplist".utf8)) || !holdsSets(data) else { throw Refused() }
    var format = PropertyListSerialization.PropertyListFormat.openStep
    let list = try PropertyListSerialization.propertyList(from: data, options: [], format: &format)
    guard format != .openStep else { throw Refused() }
    return try form(of: list)
  }

  /// Whether the list may contain an object of a kind foreign to property lists.
  private static func holdsSets(_ data: Data) -> Bool {
    let bytes = [UInt8](data)
    guard bytes.count > 40 else { return true }
    let trailer = bytes.count - 32
    func number(_ offset: Int, _ width: Int) -> Int? {
      guard (1...8).contains(width), offset >= 0, offset + width <= bytes.count else { return nil }
      return Int(exactly: bytes[offset..<offset + width].reduce(0 as UInt64) { $0 << 8 | UInt64($1) })
    }
    let width = Int(bytes[trailer + 6])
    guard let count = number(trailer + 8, 8), let table = number(trailer + 24, 8), count < bytes.count, table < bytes.count else {
      return true
    }
    return (0..<count).contains { object in
      guard let offset = number(table + object * width, width), offset < bytes.count else { return true }
      let kind = bytes[offset] >> 4
      return kind == 0 ? bytes[offset] != 8 && bytes[offset] != 9 : ![1, 2, 3, 4, 5, 6, 8, 0xA, 0xD].contains(kind)
    }
  }

  private static func form(of value: Any) throws -> PlainForm {
    switch value {
    case let text as String: return .string(text)
    case let number as NSNumber: return form(of: number)
    case let data as Data: return .data(data)
    case let date as Date: return .date(date)
    case let items as [Any]: return .array(try items.map(form))
    case let items as [String: Any]: return .dictionary(try items.mapValues(form))
    default: return try reference(value)
    }
  }

  private static func form(of number: NSNumber) -> PlainForm {
    switch UInt8(bitPattern: number.objCType.pointee) {
    case UInt8(ascii: "c"), UInt8(ascii: "B"): .bool(number.boolValue)
    case UInt8(ascii: "f"), UInt8(ascii: "d"): .real(number.doubleValue)
    case UInt8(ascii: "Q"): Int64(exactly: number.uint64Value).map(PlainForm.integer) ?? .unsigned(number.uint64Value)
    default: .integer(number.int64Value)
    }
  }

  /// A keyed archive's reference, which has no Swift name: in its XML form.
  private static func reference(_ value: Any) throws -> PlainForm {
    let text = String(
      decoding: try PropertyListSerialization.data(fromPropertyList: [value], format: .xml, options: 0), as: UTF8.self)
    guard text.contains("CF$UID"), let start = text.range(of: "<integer>")?.upperBound,
      let number = Int64(text[start...].prefix(while: \.isNumber))
    else { throw Refused() }
    return .dictionary(["CF$UID": .integer(number)])
  }
}
