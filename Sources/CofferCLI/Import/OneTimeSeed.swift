internal import Coffer
internal import CofferMemory
internal import CofferPlatform
internal import CofferStorage

/// A seed of one-time passwords as other programs keep it: an `otpauth://` URI, or the seed alone with its settings.
struct OneTimeSeed {
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

  /// Whether both make the same codes, as far as what is said of them tells.
  func isSame(as other: OneTimeSeed) -> Bool {
    secret.bytes.isEqual(to: other.secret.bytes) && period == other.period && digits == other.digits
      && algorithm == other.algorithm
  }

  /// The field of the item: the URI, made in guarded memory where the seed stands alone.
  ///
  /// Source: the key URI format of Google Authenticator, github.com/google/google-authenticator/wiki/Key-Uri-Format.
  func made(for label: String) throws -> ImportedEntry.Field {
    if OneTimeURI.isMeant(by: secret.bytes) { return ImportedEntry.Field(name: OneTimeURI.field, secret: secret) }
    guard try secret.bytes.withUnsafeBytes(Self.isBase32) else {
      return ImportedEntry.Field(name: Self.otherField, secret: secret)
    }
    var settings = ""
    if let algorithm { settings += "&algorithm=\(algorithm)" }
    if let digits { settings += "&digits=\(digits)" }
    if let period { settings += "&period=\(period)" }
    let uri = try SecretBytes.written { put in
      for byte in "otpauth://totp/\(PercentEncoding.encode(label))?secret=".utf8 { put(byte) }
      secret.bytes.withUnsafeBytes { SecretBase32.normalize($0, put) }
      for byte in settings.utf8 { put(byte) }
    }
    return ImportedEntry.Field(name: OneTimeURI.field, secret: SecretForm(uri))
  }

  private static func isBase32(_ raw: UnsafeRawBufferPointer) throws -> Bool {
    let bytes = try SecretBase32.decode(raw)
    return bytes != nil
  }
}
