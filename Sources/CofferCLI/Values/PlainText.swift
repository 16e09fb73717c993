internal import Coffer

/// A plain value as text for people and pipes.
enum PlainText {
  static func text(_ form: PlainForm) -> String {
    switch form {
    case .bool(let value): value ? "true" : "false"
    case .integer(let value): String(value)
    case .unsigned(let value): String(value)
    case .real(let value): String(value)
    case .string(let value), .argument(let value): value
    case .date(let value): Moment.text(value)
    case .data(let value): value.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    case .array, .dictionary: JSONText.encode(PlainJSON(form: form))
    }
  }
}
