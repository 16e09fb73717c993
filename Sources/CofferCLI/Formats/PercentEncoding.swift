internal import Coffer
internal import CofferMemory
internal import CofferStorage

/// Percent-encoding. Source: RFC 3986, section 2.1.
enum PercentEncoding {
  static func encode(_ text: String) -> String {
    var encoded = ""
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
        UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"):
        encoded.unicodeScalars.append(Unicode.Scalar(byte))
      default: encoded += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
      }
    }
    return encoded
  }

  /// Decodes within guarded memory; nil where a `%` has no two digits behind it, or nothing is left.
  static func decode(_ raw: UnsafeRawBufferPointer.SubSequence) throws -> SecretForm? {
    guard !raw.isEmpty, isSound(raw) else { return nil }
    return SecretForm(
      try SecretBytes.written { put in
        var rest = raw
        while let byte = rest.popFirst() {
          guard byte == UInt8(ascii: "%") else {
            put(byte)
            continue
          }
          put(rest.prefix(2).reduce(0) { $0 << 4 | (hex($1) ?? 0) })
          rest = rest.dropFirst(2)
        }
      })
  }

  /// The same for what is no secret; nil also where no text comes out.
  static func text(_ encoded: String) -> String? {
    var bytes: [UInt8] = []
    var rest = encoded.utf8[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      let digits = rest.prefix(2).compactMap(hex)
      guard digits.count == 2 else { return nil }
      bytes.append(digits[0] << 4 | digits[1])
      rest = rest.dropFirst(2)
    }
    return String(validating: bytes, as: UTF8.self)
  }

  private static func isSound(_ raw: UnsafeRawBufferPointer.SubSequence) -> Bool {
    raw.indices.allSatisfy { index in
      guard raw[index] == UInt8(ascii: "%") else { return true }
      return raw[(index + 1)...].prefix(2).count { hex($0) != nil } == 2
    }
  }

  private static func hex(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}
