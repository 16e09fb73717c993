internal import CofferStorage
internal import Foundation

/// The bytes of a property list and the values in them. They are read by Foundation's own reader, so that both agree on what
/// a file says; ``XMLPropertyList`` tells why XML is not written by its writer.
enum PropertyList {
  /// How a list is written down. The one found is kept.
  enum Encoding: Sendable { case xml, binary }

  /// Why bytes are no list of ours: a clause for an error.
  struct Failure: Error { let what: String }

  /// The values in `data`.
  static func decode(_ data: Data) throws(Failure) -> (values: [String: PlainForm], encoding: Encoding) {
    let (root, format) = try parse(data)
    // As Foundation made it: with keys of type String, it would first be copied as a whole.
    guard let root = root as? [AnyHashable: Any] else { throw Failure(what: "the property list is not a dictionary") }
    var values = [String: PlainForm](minimumCapacity: root.count)
    for (key, value) in root {
      guard let key = key as? String else { throw Failure(what: "the property list has a key that is no text") }
      values[key] = try form(of: value)
    }
    return (values, format == .binary ? .binary : .xml)
  }

  /// The value at the root of an XML list, which need not be a dictionary.
  static func value(xml data: Data) throws(Failure) -> PlainForm {
    let (root, format) = try parse(data)
    guard format == .xml else { throw Failure(what: "the text is no XML property list") }
    return try form(of: root)
  }

  private static func parse(_ data: Data) throws(Failure) -> (root: Any, format: PropertyListSerialization.PropertyListFormat) {
    guard isList(data) else { throw Failure(what: "the file is neither an XML nor a binary property list") }
    var format = PropertyListSerialization.PropertyListFormat.xml
    let root: Any
    do { root = try PropertyListSerialization.propertyList(from: data, options: [], format: &format) } catch {
      throw Failure(what: "the file is not a property list")
    }
    // The old-style format is text that nearly anything parses as: a torn or foreign file, not preferences.
    guard format != .openStep else { throw Failure(what: "the file is neither an XML nor a binary property list") }
    return (root, format)
  }

  /// Whether `data` begins as an XML or a binary list does, in any of XML's encodings. Foundation takes all else for a list in
  /// the old style, and complains about it on standard error.
  private static func isList(_ data: Data) -> Bool {
    if data.starts(with: Data("bplist".utf8)) { return BinaryPropertyList.hasKnownKindsOnly(data) }
    let byteOrderMarks: Set<UInt8> = [0, 0xEF, 0xBB, 0xBF, 0xFE, 0xFF]
    let spaces: Set<UInt8> = [0x20, 0x09, 0x0A, 0x0D]
    return data.first { !byteOrderMarks.contains($0) && !spaces.contains($0) } == UInt8(ascii: "<")
  }

  /// The list of `values` as bytes.
  static func encode(_ values: [String: PlainForm], as encoding: Encoding) throws -> Data {
    switch encoding {
    case .xml: XMLPropertyList.encode(values)
    case .binary:
      try PropertyListSerialization.data(fromPropertyList: values.mapValues(object), format: .binary, options: 0)
    }
  }

  private static func form(of value: Any) throws(Failure) -> PlainForm {
    switch value {
    case let text as String: return .string(text)
    case let number as NSNumber: return form(of: number)
    case let data as Data: return .data(data)
    case let date as Date: return .date(date)
    case let items as [Any]:
      var forms: [PlainForm] = []
      forms.reserveCapacity(items.count)
      for item in items { forms.append(try form(of: item)) }
      return .array(forms)
    case let items as [String: Any]:
      var forms = [String: PlainForm](minimumCapacity: items.count)
      for (key, item) in items { forms[key] = try form(of: item) }
      return .dictionary(forms)
    default: return try ArchiverReference.form(of: value)
    }
  }

  /// Only the encoded type tells true from 1 and 1 from 1.0: every numeric cast succeeds for each of them.
  private static func form(of number: NSNumber) -> PlainForm {
    switch UInt8(bitPattern: number.objCType.pointee) {
    case UInt8(ascii: "c"), UInt8(ascii: "B"): .bool(number.boolValue)
    case UInt8(ascii: "f"), UInt8(ascii: "d"): .real(number.doubleValue)
    case UInt8(ascii: "Q"): Int64(exactly: number.uint64Value).map(PlainForm.integer) ?? .unsigned(number.uint64Value)
    default: .integer(number.int64Value)
    }
  }

  private static func object(of form: PlainForm) throws -> Any {
    switch form {
    case .bool(let value): return NSNumber(value: value)
    case .integer(let value): return NSNumber(value: value)
    case .unsigned(let value): return NSNumber(value: value)
    case .real(let value): return NSNumber(value: value)
    case .string(let value), .argument(let value): return value
    case .date(let value): return value
    case .data(let value): return value
    case .array(let items): return try items.map(object)
    case .dictionary(let items):
      if let reference = try ArchiverReference.object(of: items) { return reference }
      return try items.mapValues(object)
    }
  }
}

/// The one kind of value that a list may hold and ``PlainForm`` does not name: a reference inside of a keyed archive. It
/// is kept as the dictionary that XML writes for it, `{CF$UID: n}`, and becomes a reference again when the list is written.
private enum ArchiverReference {
  static let key = "CF$UID"

  static func form(of value: Any) throws(PropertyList.Failure) -> PlainForm {
    do {
      let data = try PropertyListSerialization.data(fromPropertyList: [value], format: .xml, options: 0)
      let text = String(decoding: data, as: UTF8.self)
      let digits = text.drop { $0 != "<" }.firstRange(of: "<integer>").map { text[$0.upperBound...].prefix { $0.isNumber } }
      if text.contains(key), let digits, let number = Int64(digits) { return .dictionary([key: .integer(number)]) }
    } catch {}  // Said below, for both ways of not being one.
    throw PropertyList.Failure(what: "the property list holds a \(type(of: value)), which is no preference")
  }

  static func object(of items: [String: PlainForm]) throws -> Any? {
    guard items.count == 1, case .integer(let number)? = items[key] else { return nil }
    let text = "<plist version=\"1.0\"><array><dict><key>\(key)</key><integer>\(number)</integer></dict></array></plist>"
    let list = try PropertyListSerialization.propertyList(from: Data(text.utf8), options: [], format: nil)
    return (list as? [Any])?.first
  }
}
