internal import Coffer

/// The way `defaults` prints on macOS: single values bare, collections in the old property-list notation, truth as 1 and 0.
///
/// Space for space as `description` writes collections there, where a nested one repeats its own indentation before its
/// bracket: `    map =     {`. Two things differ: text is UTF-8 and not `\U` escapes, and data is whole.
enum ClassicList {
  static func text(_ form: PlainForm) -> String {
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

  /// A whole number has no fraction there: `1`, where Swift has `1.0`.
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

  private static func isWordByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
      UInt8(ascii: "_"):
      true
    default: false
    }
  }
}
