/// Percent-encoding. Source: RFC 3986, section 2.1.
package enum PercentEncoding {
  /// `text` with each byte encoded except `kept` and the unreserved ones of RFC 3986, section 2.3.
  package static func encode(_ text: String, keeping kept: Unicode.Scalar? = nil) -> String {
    var encoded = ""
    for byte in text.utf8 {
      let scalar = Unicode.Scalar(byte)
      switch scalar {
      case "a"..."z", "A"..."Z", "0"..."9", "-", ".", "_", "~": encoded.unicodeScalars.append(scalar)
      case kept: encoded.unicodeScalars.append(scalar)
      default: encoded += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
      }
    }
    return encoded
  }

  /// The decoded bytes; nil where a `%` lacks its two digits.
  package static func decode(_ encoded: some Collection<UInt8>) -> [UInt8]? {
    var bytes: [UInt8] = []
    var rest = encoded[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      let digits = rest.prefix(2).compactMap(digit)
      guard digits.count == 2 else { return nil }
      bytes.append(digits[0] << 4 | digits[1])
      rest = rest.dropFirst(2)
    }
    return bytes
  }

  /// The value of a hexadecimal digit; nil for any other byte.
  package static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}

extension UInt8 {
  /// Whether it is a letter or a digit of ASCII.
  package var isLetterOrDigit: Bool { (0x30...0x39).contains(self) || (0x41...0x5A).contains(self & 0xDF) }
}
