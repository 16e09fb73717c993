package import CofferStorage
internal import CofferTerminal
internal import FoundationEssentials

/// The format that `defaults` prints on macOS: bare single values, old property-list notation for collections, 1 and 0 for
/// booleans.
///
/// The spaces equal those of `description`, where a nested collection repeats its own indentation before its bracket:
/// `    map =     {`. Unlike there, text is UTF-8 without `\U` escapes, and data is whole.
package enum ClassicList {
  package static func text(_ form: PlainForm) -> String {
    switch form {
    case .string(let text), .argument(let text): text
    case .date(let date): Moment.classic(date)
    case .integer, .unsigned: PlainText.text(form)
    case .real(let number): real(number)
    default: nested(form, level: 0)
    }
  }

  private static func nested(_ form: PlainForm, level: Int) -> String {
    let indent = String(repeating: "    ", count: level)
    let deeper = indent + "    "
    switch form {
    case .bool(let value): return value ? "1" : "0"
    case .array(let items):
      let lines = items.map { deeper + nested($0, level: level + 1) }
      return indent + "(\n" + lines.joined(separator: ",\n") + (lines.isEmpty ? "" : "\n") + indent + ")"
    case .dictionary(let items):
      let lines = items.sorted { $0.key < $1.key }.map { key, item in
        "\(deeper)\(quoted(key)) = \(nested(item, level: level + 1));\n"
      }
      return indent + "{\n" + lines.joined() + indent + "}"
    case .data: return "<" + PlainText.text(form) + ">"
    case .string, .argument, .date, .integer, .unsigned, .real: return quoted(text(form))
    }
  }

  /// macOS prints a whole number without a fraction: `1`, not `1.0`.
  private static func real(_ number: Double) -> String {
    let text = String(number)
    return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
  }

  private static func quoted(_ text: String) -> String {
    let isBare = !text.isEmpty && text.utf8.allSatisfy { isWordByte($0) }
    return isBare ? text : "\"" + text.unicodeScalars.map(escaped).joined() + "\""
  }

  private static func escaped(_ scalar: Unicode.Scalar) -> String {
    switch scalar {
    case "\"", "\\": return "\\\(scalar)"
    case "\n": return "\\n"
    case "\t": return "\\t"
    case "\r": return "\\r"
    case _ where scalar.properties.generalCategory == .control:
      let digits = String(scalar.value, radix: 16)
      return "\\U" + String(repeating: "0", count: 4 - digits.count) + digits
    default: return String(scalar)
    }
  }

  private static func isWordByte(_ byte: UInt8) -> Bool { byte.isLetterOrDigit || byte == UInt8(ascii: "_") }
}

/// Reads the old property-list notation, `{ key = (a, "b c", <0f00>); }`, of text, data, arrays and dictionaries.
///
/// Source: Apple, Property List Programming Topics for Core Foundation, "Old-Style ASCII Property Lists". Foundation's reader
/// accepts nearly any text as a list and writes its complaints to standard error.
struct ClassicListReader {
  private var rest: Substring.UnicodeScalarView
  /// Most levels of nested collections: the plain store's limit, and a bound on recursion.
  private static let deepest = 32

  /// Nil if `text` spells none.
  static func parse(_ text: String) -> PlainForm? {
    var reader = ClassicListReader(rest: text[...].unicodeScalars)
    guard let form = reader.value(depth: 0) else { return nil }
    reader.skipSpace()
    return reader.rest.isEmpty ? form : nil
  }

  private mutating func value(depth: Int) -> PlainForm? {
    guard depth <= Self.deepest else { return nil }
    skipSpace()
    if take("{") { return dictionary(depth) }
    if take("(") { return array(depth) }
    if take("<") { return data() }
    return string().map(PlainForm.string)
  }

  private mutating func dictionary(_ depth: Int) -> PlainForm? {
    var items: [String: PlainForm] = [:]
    while true {
      skipSpace()
      if take("}") { return .dictionary(items) }
      guard let key = string(), spaced("="), let item = value(depth: depth + 1), spaced(";") else { return nil }
      items[key] = item
    }
  }

  private mutating func array(_ depth: Int) -> PlainForm? {
    var items: [PlainForm] = []
    while true {
      skipSpace()
      if take(")") { return .array(items) }
      guard let item = value(depth: depth + 1) else { return nil }
      items.append(item)
      skipSpace()
      guard take(",") || rest.first == ")" else { return nil }
    }
  }

  private mutating func data() -> PlainForm? {
    guard let end = rest.firstIndex(of: ">") else { return nil }
    let digits = String(rest[..<end].filter { !$0.properties.isWhitespace })
    rest = rest[rest.index(after: end)...]
    return PlainType.hexadecimal(digits).map(PlainForm.data)
  }

  // MARK: Text

  private mutating func string() -> String? {
    for quote in ["\"", "'"] as [Unicode.Scalar] where take(quote) { return quoted(until: quote) }
    let word = rest.prefix(while: Self.isBare)
    rest = rest[word.endIndex...]
    return word.isEmpty ? nil : String(word)
  }

  private static func isBare(_ scalar: Unicode.Scalar) -> Bool {
    scalar.isASCII
      && (scalar.properties.isAlphabetic || scalar.properties.numericType != nil || "_$/:.-".unicodeScalars.contains(scalar))
  }

  private mutating func quoted(until quote: Unicode.Scalar) -> String? {
    var text = String.UnicodeScalarView()
    while let scalar = rest.popFirst() {
      if scalar == quote { return String(text) }
      guard scalar == "\\" else {
        text.append(scalar)
        continue
      }
      guard let escaped = escape() else { return nil }
      text.append(escaped)
    }
    return nil
  }

  private mutating func escape() -> Unicode.Scalar? {
    guard let scalar = rest.popFirst() else { return nil }
    switch scalar {
    case "n": return "\n"
    case "t": return "\t"
    case "r": return "\r"
    case "U", "u":
      let digits = String(rest.prefix(4))
      rest = rest.dropFirst(4)
      return digits.unicodeScalars.count == 4 ? UInt32(digits, radix: 16).flatMap(Unicode.Scalar.init) : nil
    default: return scalar
    }
  }

  // MARK: Steps

  private mutating func take(_ scalar: Unicode.Scalar) -> Bool {
    guard rest.first == scalar else { return false }
    rest.removeFirst()
    return true
  }

  private mutating func spaced(_ scalar: Unicode.Scalar) -> Bool {
    skipSpace()
    return take(scalar)
  }

  private mutating func skipSpace() { rest = rest.drop { $0.properties.isWhitespace } }
}
