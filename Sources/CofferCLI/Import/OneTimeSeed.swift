internal import Coffer
internal import CofferStorage

/// A seed of one-time passwords as other programs keep it: an `otpauth://` URI, or the seed alone with its settings.
struct OneTimeSeed {
  /// The field that holds the URI.
  static let field = "otpauth"
  /// The field that holds what is no URI and no seed, such as `steam://…`.
  static let otherField = "totp"

  let secret: SecretForm
  /// Seconds that a code lasts, its digits, and the hash; nil for what everyone uses: 30, 6, SHA1.
  var period: Int?, digits: Int?, algorithm: String?

  /// Nil where `secret` is empty.
  init?(_ secret: SecretForm?, period: Int? = nil, digits: Int? = nil, algorithm: String? = nil) {
    guard let secret, secret.bytes.count > 0 else { return nil }
    self.secret = secret
    (self.period, self.digits, self.algorithm) = (period, digits, algorithm)
  }

  /// The field of the item: the URI, made in guarded memory where the seed stands alone.
  ///
  /// Source: the key URI format of Google Authenticator, github.com/google/google-authenticator/wiki/Key-Uri-Format.
  func made(for label: String) throws -> ImportedEntry.Field {
    let isURI = secret.bytes.withUnsafeBytes { Self.begins($0, "otpauth://") }
    if isURI { return ImportedEntry.Field(name: Self.field, secret: secret) }
    guard secret.bytes.withUnsafeBytes({ $0.allSatisfy { Self.isSpace($0) || Self.digit($0) != nil } }) else {
      return ImportedEntry.Field(name: Self.otherField, secret: secret)
    }
    var settings = ""
    if let algorithm { settings += "&algorithm=\(algorithm)" }
    if let digits { settings += "&digits=\(digits)" }
    if let period { settings += "&period=\(period)" }
    let uri = try SecretBytes.written { put in
      for byte in "otpauth://totp/\(PercentEncoding.encode(label))?secret=".utf8 { put(byte) }
      secret.bytes.withUnsafeBytes { for byte in $0 { Self.digit(byte).map(put) } }
      for byte in settings.utf8 { put(byte) }
    }
    return ImportedEntry.Field(name: Self.field, secret: SecretForm(uri))
  }

  private static func begins(_ raw: UnsafeRawBufferPointer, _ text: String) -> Bool {
    raw.prefix(text.utf8.count).elementsEqual(text.utf8) { ($0 | 0x20) == $1 || $0 == $1 }
  }

  /// People write seeds in groups.
  private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "=") }

  /// A digit of Base32 in upper case. Source: RFC 4648, section 6.
  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "2")...UInt8(ascii: "7"): byte
    case UInt8(ascii: "a")...UInt8(ascii: "z"): byte & ~0x20
    default: nil
    }
  }
}

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
