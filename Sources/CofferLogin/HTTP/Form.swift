internal import CofferMemory
internal import CofferPlatform
internal import CofferStorage

/// Parameters of a request, some of them secret.
///
/// Source: RFC 6749, appendix B: `application/x-www-form-urlencoded`, in UTF-8.
struct Form: Sendable {
  private enum Value: Sendable { case text(String), secret(SecretForm) }
  private var parameters: [(name: String, value: Value)] = []

  mutating func add(_ name: String, _ text: String?) {
    if let text { parameters.append((name, .text(text))) }
  }

  mutating func add(_ name: String, _ secret: SecretForm?) {
    if let secret { parameters.append((name, .secret(secret))) }
  }

  func bytes() throws -> SecretBytes {
    try SecretBytes.written { (put) throws(StoreError) in
      for (index, parameter) in parameters.enumerated() {
        if index > 0 { put(UInt8(ascii: "&")) }
        parameter.name.utf8.forEach(put)
        put(UInt8(ascii: "="))
        switch parameter.value {
        case .text(let text): for byte in text.utf8 { Self.encode(byte, put) }
        case .secret(let secret): secret.bytes.withUnsafeBytes { raw in for byte in raw { Self.encode(byte, put) } }
        }
      }
    }
  }

  /// A byte's encoding in a form. Source: RFC 3986, section 2.3, whose encoding every form reader understands.
  static func encode(_ byte: UInt8, _ put: (UInt8) -> Void) {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
      UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"):
      put(byte)
    default:
      put(UInt8(ascii: "%"))
      for digit in [byte >> 4, byte & 15] { put(digit < 10 ? 0x30 + digit : 0x41 + digit - 10) }
    }
  }

  static func encoded(_ text: String) -> String {
    var encoded: [UInt8] = []
    for byte in text.utf8 { encode(byte) { encoded.append($0) } }
    return String(decoding: encoded, as: UTF8.self)
  }

  /// Whether `text` holds one of the secrets: an echo of a server must not be printed.
  func isGivenAway(by text: String) -> Bool {
    parameters.contains { parameter in
      guard case .secret(let secret) = parameter.value, secret.bytes.count > 0 else { return false }
      let bytes = Array(text.utf8)
      return secret.bytes.withUnsafeBytes { raw in
        bytes.count >= raw.count && (0...(bytes.count - raw.count)).contains { bytes[$0..<$0 + raw.count].elementsEqual(raw) }
      }
    }
  }
}
