internal import FoundationEssentials

/// Bytes are the object `{"base64": "…"}`; the encoder's strategies cover dates and non-finite numbers.
package struct PlainFormJSON: Encodable {
  package let form: PlainForm

  package init(_ form: PlainForm) { self.form = form }

  package func encode(to encoder: any Encoder) throws {
    var single = encoder.singleValueContainer()
    switch form {
    case .bool(let value): try single.encode(value)
    case .integer(let value): try single.encode(value)
    case .unsigned(let value): try single.encode(value)
    case .real(let value): try single.encode(value)
    case .string(let value), .argument(let value): try single.encode(value)
    case .date(let value): try single.encode(value)
    case .data(let value): try single.encode(["base64": value.base64EncodedString()])
    case .array(let items): try single.encode(items.map(PlainFormJSON.init))
    case .dictionary(let items): try single.encode(items.mapValues(PlainFormJSON.init))
    }
  }

  /// Dates are ISO 8601 in whole seconds.
  static func text(_ form: PlainForm) -> String? {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    encoder.dateEncodingStrategy = .iso8601
    encoder.nonConformingFloatEncodingStrategy = .convertToString(positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
    do { return String(decoding: try encoder.encode(PlainFormJSON(form)), as: UTF8.self) } catch { return nil }
  }
}
