package import CofferStorage
package import CofferTerminal
package import FoundationEssentials

/// The types of a plain value on the command line.
package enum PlainType: String, CaseIterable, Sendable {
  case bool, int, float, string, date, data, json

  package init(of form: PlainForm) {
    switch form {
    case .bool: self = .bool
    case .integer, .unsigned: self = .int
    case .real: self = .float
    case .string, .argument: self = .string
    case .date: self = .date
    case .data: self = .data
    case .array, .dictionary: self = .json
    }
  }

  package func parse(_ text: String) throws(Failure) -> PlainForm {
    guard let form = value(text) else {
      throw .usage("the value is not \(article) \(rawValue)", try: "\(example), or another type flag")
    }
    return form
  }

  private func value(_ text: String) -> PlainForm? {
    switch self {
    case .bool: Self.truth[text.lowercased()].map(PlainForm.bool)
    case .int: Int64(text).map(PlainForm.integer) ?? UInt64(text).map(PlainForm.unsigned)
    case .float: Self.real(text).map(PlainForm.real)
    case .string: .string(text)
    case .date: Moment.parse(text).map(PlainForm.date)
    case .data: Self.hexadecimal(text).map(PlainForm.data)
    case .json: JSONForm.parse(text)
    }
  }

  /// A number beyond `Double` would silently become infinite, so infinity has to be spelled as a word.
  private static func real(_ text: String) -> Double? {
    guard let number = Double(text) else { return nil }
    return number.isFinite || !text.contains(where: \.isNumber) ? number : nil
  }

  private static let truth = [
    "true": true, "yes": true, "on": true, "1": true, "false": false, "no": false, "off": false, "0": false,
  ]

  /// Nil for any other text.
  package static func hexadecimal(_ text: String) -> Data? {
    let digits = text.compactMap(\.hexDigitValue)
    guard digits.count == text.count, digits.count.isMultiple(of: 2) else { return nil }
    return Data(stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) })
  }

  private var article: String { self == .int ? "an" : "a" }

  private var example: String {
    switch self {
    case .bool: "true or false"
    case .int: "a whole number of at most 64 bits"
    case .float: "a number such as 0.5"
    case .string: "text"
    case .date: "2026-12-31T18:00:00Z"
    case .data: "an even number of hexadecimal digits"
    case .json: "JSON without null"
    }
  }
}

package enum PlainText {
  package static func text(_ form: PlainForm) -> String {
    switch form {
    case .bool(let value): value ? "true" : "false"
    case .integer(let value): String(value)
    case .unsigned(let value): String(value)
    case .real(let value): String(value)
    case .string(let value), .argument(let value): value
    case .date(let value): Moment.text(value)
    case .data(let value): value.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    case .array, .dictionary: JSONText.encode(PlainFormJSON(form))
    }
  }
}

/// JSON as a property-list value. A property list cannot hold JSON's null.
enum JSONForm {
  static func parse(_ text: String) -> PlainForm? {
    do { return try JSONDecoder().decode(Node.self, from: Data(text.utf8)).form } catch { return nil }
  }

  private struct Node: Decodable {
    let form: PlainForm
    init(from decoder: any Decoder) throws {
      let single = try decoder.singleValueContainer()
      func attempt<Value: Decodable>(_: Value.Type) -> Value? { do { return try single.decode(Value.self) } catch { return nil } }
      let number =
        attempt(Int64.self).map(PlainForm.integer) ?? attempt(UInt64.self).map(PlainForm.unsigned)
        ?? attempt(Double.self).map(PlainForm.real)
      let found =
        attempt(Bool.self).map(PlainForm.bool) ?? number ?? attempt(String.self).map(PlainForm.string)
        ?? attempt([Node].self).map { PlainForm.array($0.map(\.form)) }
      form = try found ?? .dictionary(single.decode([String: Node].self).mapValues(\.form))
    }
  }
}
