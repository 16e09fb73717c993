internal import Coffer
internal import CofferMemory
internal import CofferPlatform
package import CofferStorage

/// A seed of one-time passwords as other programs keep it: an `otpauth://` URI, or the seed alone with its settings.
package struct OneTimeSeed {
  /// Bytes of a seed alone, at most: half of a URI, because the label and the settings take room as well.
  private static let longest = OneTimeURI.largest / 2

  let secret: SecretForm
  /// Seconds that a code lasts, its digits, and the hash; nil for what everyone uses: 30, 6, SHA1.
  var period: Int?, digits: Int?, algorithm: String?

  /// Nil where `secret` is empty.
  init?(_ secret: SecretForm?, period: Int? = nil, digits: Int? = nil, algorithm: String? = nil) {
    guard let secret, secret.bytes.count > 0 else { return nil }
    self.secret = secret
    (self.period, self.digits, self.algorithm) = (period, digits, algorithm)
  }

  /// Whether both make the same codes, according to their settings.
  func isSame(as other: OneTimeSeed) -> Bool {
    secret.bytes.isEqual(to: other.secret.bytes) && period == other.period && digits == other.digits
      && algorithm == other.algorithm
  }

  /// Whether Coffer makes codes of it: not of Steam's, which have letters, nor of a counter's, nor of an invalid seed.
  func makesCodes() throws -> Bool {
    do {
      _ = try OneTimeURI.read(secret.bytes)
    } catch let error as StoreError where error.kind == .damaged || error.kind == .unsupported {
      return false
    }
    return OneTimeURI.isMeant(by: secret.bytes) || secret.bytes.count <= Self.longest
  }

  /// The URI of a seed that makes codes, put together in guarded memory where the seed stands alone.
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
