internal import Coffer

/// The way `defaults` prints on macOS: single values bare, collections in the old property-list notation, truth as 1 and 0.
enum ClassicList {
  static func text(_ form: PlainForm) -> String {
    switch form {
    case .string(let text), .argument(let text): text
    default: nested(form, indent: "")
    }
  }

  private static func nested(_ form: PlainForm, indent: String) -> String {
    let deeper = indent + "    "
    switch form {
    case .bool(let value): return value ? "1" : "0"
    case .array(let items):
      let lines = items.map { deeper + nested($0, indent: deeper) }
      return "(\n" + lines.joined(separator: ",\n") + (lines.isEmpty ? "" : "\n") + indent + ")"
    case .dictionary(let items):
      let lines = items.sorted { $0.key < $1.key }.map { "\(deeper)\(quoted($0.key)) = \(nested($0.value, indent: deeper));\n" }
      return "{\n" + lines.joined() + indent + "}"
    case .string(let text), .argument(let text): return quoted(text)
    case .date(let date): return quoted(Moment.text(date))
    case .data: return "<" + PlainText.text(form) + ">"
    case .integer, .unsigned, .real: return PlainText.text(form)
    }
  }

  private static func quoted(_ text: String) -> String {
    let isBare = !text.isEmpty && text.utf8.allSatisfy { isWordByte($0) }
    guard !isBare else { return text }
    return "\"" + text.flatMap { $0 == "\"" || $0 == "\\" ? ["\\", $0] : $0 == "\n" ? ["\\", "n"] : [$0] } + "\""
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
