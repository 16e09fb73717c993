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
