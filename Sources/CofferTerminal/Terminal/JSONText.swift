package import CofferMemory
package import CofferStorage
internal import FoundationEssentials

/// JSON on one line, with sorted keys: equal answers are equal text.
package enum JSONText {
  package static func encode(_ value: some Encodable) -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    encoder.dateEncodingStrategy = .custom { date, encoder in
      var text = encoder.singleValueContainer()
      try text.encode(Moment.text(date))
    }
    encoder.nonConformingFloatEncodingStrategy = .convertToString(positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
    do { return String(decoding: try encoder.encode(value), as: UTF8.self) } catch {
      // Our own structures can all be encoded.
      preconditionFailure("an answer could not be encoded as JSON: \(error)")
    }
  }

  /// `object`, an encoded JSON object, with a secret as its last field.
  package static func write(_ object: String, _ field: String, _ secret: borrowing SecretBytes) throws {
    try write(object.dropLast() + (object == "{}" ? "" : ",") + "\"\(field)\":", secret, "}\n")
  }

  /// `object` has at least one field.
  package static func write(_ object: String, _ secrets: [(field: String, form: SecretForm)]) throws {
    try Output.write(String(object.dropLast()))
    for (field, form) in secrets { try write(",\"\(field)\":", form.bytes, "") }
    try Output.write("}\n")
  }

  package static func write(_ start: String, _ secret: borrowing SecretBytes, _ end: String) throws {
    try Output.write(start)
    try Output.write(SecretJSON.literal(secret))
    try Output.write(end)
  }
}

extension Output { package static func json(_ answer: some Encodable) throws(Failure) { try line(JSONText.encode(answer)) } }

/// A field that is null where it does not apply: programs need not check for it.
@propertyWrapper
package struct OrNull<Value: Encodable>: Encodable {
  package var wrappedValue: Value?

  package init(wrappedValue: Value?) { self.wrappedValue = wrappedValue }

  package func encode(to encoder: any Encoder) throws {
    var field = encoder.singleValueContainer()
    if let wrappedValue { try field.encode(wrappedValue) } else { try field.encodeNil() }
  }
}

/// A secret as a JSON literal, built in guarded memory: text as a string, other bytes as `{"base64": "…"}`.
package enum SecretJSON {
  package static func literal(_ secret: borrowing SecretBytes) throws -> SecretBytes {
    try secret.withUnsafeBytes { raw in
      let isText = UTF8Validity.isValid(raw)
      return try SecretBytes.written { put in if isText { string(raw, put) } else { base64(raw, put) } }
    }
  }

  private static func string(_ raw: UnsafeRawBufferPointer, _ put: (UInt8) -> Void) {
    let digits: StaticString = "0123456789abcdef"
    put(UInt8(ascii: "\""))
    for byte in raw {
      switch byte {
      case UInt8(ascii: "\""): "\\\"".utf8.forEach(put)
      case UInt8(ascii: "\\"): "\\\\".utf8.forEach(put)
      case UInt8(ascii: "\n"): "\\n".utf8.forEach(put)
      case 0..<0x20, 0x7F:
        "\\u00".utf8.forEach(put)
        put(digits.utf8Start[Int(byte >> 4)])
        put(digits.utf8Start[Int(byte & 15)])
      default: put(byte)
      }
    }
    put(UInt8(ascii: "\""))
  }

  private static func base64(_ raw: UnsafeRawBufferPointer, _ put: (UInt8) -> Void) {
    "{\"base64\":\"".utf8.forEach(put)
    SecretBase64.encode(raw, put)
    "\"}".utf8.forEach(put)
  }
}
