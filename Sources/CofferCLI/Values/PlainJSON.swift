internal import Coffer
internal import FoundationEssentials

/// A plain value as JSON. Bytes are the object `{"base64": "…"}`, dates are ISO 8601 text.
struct PlainJSON: Encodable {
  let form: PlainForm

  func encode(to encoder: any Encoder) throws {
    var single = encoder.singleValueContainer()
    switch form {
    case .bool(let value): try single.encode(value)
    case .integer(let value): try single.encode(value)
    case .unsigned(let value): try single.encode(value)
    case .real(let value): try single.encode(value)
    case .string(let value), .argument(let value): try single.encode(value)
    case .date(let value): try single.encode(value)
    case .data(let value): try single.encode(["base64": value.base64EncodedString()])
    case .array(let items): try single.encode(items.map(PlainJSON.init))
    case .dictionary(let items): try single.encode(items.mapValues(PlainJSON.init))
    }
  }
}
