internal import Coffer
package import CofferMemory
internal import CofferPlatform

/// `otpauth://totp/LABEL?secret=…` of a web site's QR code, or the bare secret beside it.
///
/// Source: "Key Uri Format" of Google Authenticator. It is read in guarded memory, and errors repeat nothing of it.
package enum OneTimeURI {
  package static let field = "otpauth"
  /// Most bytes of a URI: a QR code has under 3 KiB.
  package static let largest = 4096
  package static let scheme = Array("otpauth://".utf8)

  /// Whether `text` begins like such a URI, sound or not.
  package static func isMeant(by text: borrowing SecretBytes) -> Bool {
    text.withUnsafeBytes { starts(trimmed($0), with: scheme) }
  }

  /// - Throws: `.damaged`; `.unsupported` for codes that are not made from the clock.
  package static func read(_ text: borrowing SecretBytes) throws -> OneTimePassword {
    guard text.count <= largest else { throw malformed("it is longer than \(largest) bytes") }
    return try text.withUnsafeBytes { raw in
      let raw = trimmed(raw)
      if starts(raw, with: scheme) { return try parse(UnsafeRawBufferPointer(rebasing: raw[scheme.count...])) }
      guard !raw.contains(UInt8(ascii: ":")) else { throw malformed("it is not an otpauth:// URI") }
      guard let secret = try SecretBase32.decode(raw) else { throw malformed("it is neither an otpauth:// URI nor Base32") }
      return OneTimePassword(secret: secret, hash: .sha1, digits: 6, period: 30)
    }
  }

  private static func parse(_ rest: UnsafeRawBufferPointer) throws -> OneTimePassword {
    let end = rest.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? rest.count
    let kind = UnsafeRawBufferPointer(rebasing: rest[..<end])
    if equals(kind, "hotp") {
      throw StoreError(
        .unsupported, "the code follows a counter (hotp), which every use would have to change",
        cure: "ask the service for codes that follow the clock (totp)")
    }
    guard equals(kind, "totp") else { throw malformed("its kind is not totp") }
    guard let question = rest.firstIndex(of: UInt8(ascii: "?")) else { throw malformed("it has no secret") }
    var parameters = Parameters()
    for part in rest[(question + 1)...].prefix(while: { $0 != UInt8(ascii: "#") }).split(separator: UInt8(ascii: "&")) {
      try parameters.take(UnsafeRawBufferPointer(rebasing: part))
    }
    return try parameters.password()
  }

  private struct Parameters: ~Copyable {
    private var secret: SecretBytes?
    private var hash: SecretDigest?
    private var digits: Int?
    private var period: Int?

    /// Takes `name=value`; an unknown name, such as the issuer, does not affect the code.
    mutating func take(_ part: UnsafeRawBufferPointer) throws {
      let sign = part.firstIndex(of: UInt8(ascii: "=")) ?? part.count
      let name = UnsafeRawBufferPointer(rebasing: part[..<sign])
      guard ["secret", "algorithm", "digits", "period", "encoder"].contains(where: { equals(name, $0) }) else { return }
      guard let value = try PercentEncoding.secret(part[min(sign + 1, part.count)...]) else {
        throw malformed("a value of it is empty, or a % is not followed by two hexadecimal digits")
      }
      try value.bytes.withUnsafeBytes { value in
        if equals(name, "secret") {
          guard secret == nil else { throw malformed("it has two secrets") }
          guard let decoded = try SecretBase32.decode(value) else { throw malformed("its secret is not Base32") }
          secret = consume decoded
        } else if equals(name, "algorithm") {
          hash = try once(hash, algorithm(value), "its algorithm is not SHA1, SHA256 or SHA512, or given twice")
        } else if equals(name, "encoder") {
          throw StoreError(.unsupported, "its codes are not made of digits", cure: "the service's own program")
        } else if equals(name, "digits") {
          digits = try once(digits, number(value, OneTimePassword.digitCounts), "its digits are not 6, 7 or 8, or given twice")
        } else {
          period = try once(
            period, number(value, OneTimePassword.periods), "its period is not 1 to 86400 seconds, or given twice")
        }
      }
    }

    consuming func password() throws -> OneTimePassword {
      let (hash, digits, period) = (hash ?? .sha1, digits ?? 6, period ?? 30)
      guard let secret = consume secret else { throw malformed("it has no secret") }
      return OneTimePassword(secret: secret, hash: hash, digits: digits, period: period)
    }

    private func once<Value>(_ before: Value?, _ value: Value?, _ what: String) throws -> Value {
      guard before == nil, let value else { throw malformed(what) }
      return value
    }

    private func algorithm(_ value: UnsafeRawBufferPointer) -> SecretDigest? {
      let names: [(String, SecretDigest)] = [
        ("sha1", .sha1), ("sha256", .sha256), ("sha512", .sha512), ("sha-1", .sha1), ("sha-256", .sha256), ("sha-512", .sha512),
      ]
      return names.first { equals(value, $0.0) }?.1
    }

    private func number(_ value: UnsafeRawBufferPointer, _ range: ClosedRange<Int>) -> Int? {
      guard 1...6 ~= value.count, value.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }) else { return nil }
      let number = value.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
      return range ~= number ? number : nil
    }
  }

  /// Whether `bytes` are the lower-case `word`, in either case.
  private static func equals(_ bytes: UnsafeRawBufferPointer, _ word: String) -> Bool {
    bytes.count == word.utf8.count && starts(bytes, with: Array(word.utf8))
  }

  private static func starts(_ bytes: UnsafeRawBufferPointer, with word: [UInt8]) -> Bool {
    bytes.count >= word.count
      && zip(bytes, word).allSatisfy { byte, wanted in
        byte == wanted || (UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte && byte | 0x20 == wanted)
      }
  }

  private static func trimmed(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    let first = bytes.firstIndex { $0 > 0x20 } ?? bytes.count
    let last = bytes.lastIndex { $0 > 0x20 } ?? first - 1
    return UnsafeRawBufferPointer(rebasing: bytes[first..<last + 1])
  }

  private static func malformed(_ why: String) -> StoreError {
    StoreError(
      .damaged, "the one-time password's secret cannot be used: \(why)",
      cure: "the otpauth:// URI of the service's QR code, or the secret that is printed beside it")
  }
}
