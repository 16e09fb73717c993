internal import Coffer
internal import FoundationEssentials

/// JSON on one line, keys in order, so that equal answers are equal text.
enum JSONText {
  static func encode(_ value: some Encodable) -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    encoder.dateEncodingStrategy = .custom { date, encoder in
      var text = encoder.singleValueContainer()
      try text.encode(Moment.text(date))
    }
    encoder.nonConformingFloatEncodingStrategy = .convertToString(positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
    do { return String(decoding: try encoder.encode(value), as: UTF8.self) } catch {
      // Only our own structures come here, none of which can fail to encode.
      preconditionFailure("an answer could not be encoded as JSON: \(error)")
    }
  }

  /// `object`, an encoded JSON object, with a secret as its last field.
  static func write(_ object: String, _ field: String, _ secret: borrowing SecretBytes) throws {
    try Output.write(object.dropLast() + (object == "{}" ? "" : ",") + "\"\(field)\":")
    try Output.write(SecretJSON.literal(secret))
    try Output.write("}\n")
  }
}

/// A point in time, as text.
enum Moment {
  /// `2026-11-21T08:00:00Z`
  static func text(_ date: Date) -> String { date.formatted(.iso8601) }

  /// Reads what ``text(_:)`` writes, other offsets, and a bare day, which begins at midnight UTC.
  static func parse(_ text: String) -> Date? {
    do { return try Date(text, strategy: .iso8601) } catch {}
    do { return try Date(text, strategy: .iso8601.year().month().day()) } catch { return nil }
  }
}

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
