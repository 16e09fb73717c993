internal import CofferMemory
internal import CofferPlatform
package import CofferStorage

/// A seed of one-time passwords from other programs: an `otpauth://` URI, or a bare seed with its settings.
package struct OneTimeSeed {
  /// Most bytes of a bare seed: half a URI, because label and settings need room as well.
  private static let longest = OneTimeURI.largest / 2

  let secret: SecretForm
  /// Seconds that a code lasts, its digits, and the hash; nil for the usual 30, 6, SHA1.
  var period: Int?, digits: Int?, algorithm: String?

  /// Nil where `secret` is empty.
  init?(_ secret: SecretForm?, period: Int? = nil, digits: Int? = nil, algorithm: String? = nil) {
    guard let secret, secret.bytes.count > 0 else { return nil }
    self.secret = secret
    (self.period, self.digits, self.algorithm) = (period, digits, algorithm)
  }

  func isSame(as other: OneTimeSeed) -> Bool {
    secret.bytes.isEqual(to: other.secret.bytes) && period == other.period && digits == other.digits
      && algorithm == other.algorithm
  }

  /// Whether Coffer can make its codes: not Steam's, which have letters, nor a counter's, nor those of an invalid seed.
  func makesCodes() throws -> Bool {
    do {
      _ = try OneTimeURI.read(secret.bytes)
    } catch let error as StoreError where error.kind == .damaged || error.kind == .unsupported {
      return false
    }
    return OneTimeURI.isMeant(by: secret.bytes) || secret.bytes.count <= Self.longest
  }

  /// The URI of a usable seed; for a bare seed it is built in guarded memory.
  ///
  /// Source: the key URI format of Google Authenticator, github.com/google/google-authenticator/wiki/Key-Uri-Format.
  package func uri(for label: String) throws -> SecretForm {
    guard !OneTimeURI.isMeant(by: secret.bytes) else { return secret }
    var settings = ""
    if let algorithm { settings += "&algorithm=\(algorithm)" }
    if let digits { settings += "&digits=\(digits)" }
    if let period { settings += "&period=\(period)" }
    return SecretForm(
      try SecretBytes.written { put in
        for byte in "otpauth://totp/\(PercentEncoding.encode(label))?secret=".utf8 { put(byte) }
        secret.bytes.withUnsafeBytes { SecretBase32.normalize($0, put) }
        for byte in settings.utf8 { put(byte) }
      })
  }
}
