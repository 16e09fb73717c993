internal import Coffer

/// `coffer://service/account[/attribute]`: names a secret, or something said of it, in a place where the secret may not stand.
///
/// Each part is percent-encoded, so that a service may be a URL: `coffer://https%3A%2F%2Fexample.com/ada`. Without an account
/// the only item of the service is meant; `coffer://service/` is the one whose account is empty. Source: RFC 3986, section 2.1.
struct Reference: Hashable, CustomStringConvertible {
  static let scheme = "coffer://"

  let service: String
  /// Nil for the only item of the service.
  let account: String?
  /// What of the item is meant; nil for its value.
  let attribute: String?

  /// Whether `text` is meant to be a reference.
  static func isMeant(by text: String) -> Bool { text.utf8.starts(with: scheme.utf8) }

  init(service: String, account: String?, attribute: String? = nil) {
    self.service = service
    self.account = account
    self.attribute = attribute
  }

  /// - Throws: a usage failure that says what is wrong with `text`, which is no secret.
  init(_ text: String) throws(Failure) {
    guard Self.isMeant(by: text) else {
      throw .usage("a reference begins with \(Self.scheme)", try: "coffer://service/account")
    }
    let parts = text.dropFirst(Self.scheme.count).split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count <= 3 else {
      throw Self.malformed(text, "has more parts than service, account and attribute", "%2F for a slash within a part")
    }
    let decoded = try parts.map { (part) throws(Failure) in try Self.decode(part, of: text) }
    guard let service = decoded.first, !service.isEmpty else {
      throw Self.malformed(text, "names no service", "coffer://service/account")
    }
    guard decoded.count < 3 || decoded.last?.isEmpty == false else {
      throw Self.malformed(text, "names no attribute after its last slash", "coffer://service/account without the slash")
    }
    self.service = service
    account = decoded.count > 1 ? decoded[1] : nil
    attribute = decoded.count > 2 ? decoded[2] : nil
  }

  var description: String {
    Self.scheme + [service, account, attribute].compactMap { $0.map(Self.encode) }.joined(separator: "/")
  }

  // MARK: Percent-encoding

  private static func decode(_ part: Substring, of text: String) throws(Failure) -> String {
    var bytes: [UInt8] = []
    var rest = part.utf8[...]
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "%"):
        let digits = rest.prefix(2).compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
        guard digits.count == 2 else {
          throw malformed(text, "has a % without two hexadecimal digits after it", "%25 for a percent sign")
        }
        bytes.append(UInt8(digits[0] << 4 | digits[1]))
        rest = rest.dropFirst(2)
      case UInt8(ascii: "?"), UInt8(ascii: "#"):
        throw malformed(text, "has a ? or # that is not encoded", "%3F for a question mark, %23 for a hash sign")
      case 0...0x20, 0x7F: throw malformed(text, "has a space or a control character in it", "%20 for a space")
      default: bytes.append(byte)
      }
    }
    guard let decoded = String(validating: bytes, as: UTF8.self) else {
      throw malformed(text, "is not UTF-8 once decoded", "the bytes of the text's UTF-8, each as %XX")
    }
    return decoded
  }

  private static func encode(_ part: String) -> String {
    part.utf8.map { byte in
      isUnreserved(byte) ? String(Unicode.Scalar(byte)) : "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
    }.joined()
  }

  private static func isUnreserved(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
      UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"), UInt8(ascii: "@"):
      true
    default: false
    }
  }

  private static func malformed(_ text: String, _ what: String, _ cure: String) -> Failure {
    .usage("the reference '\(text)' \(what)", try: cure)
  }
}
