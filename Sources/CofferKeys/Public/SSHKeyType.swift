internal import CofferPlatform

/// A kind of key, by its name in SSH. DSA, keys of security tokens and signatures with SHA-1 have none.
///
/// Source: RFC 8709, section 4; RFC 8332, section 3; RFC 5656, section 3.1.
package enum SSHKeyType: String, Sendable, CaseIterable {
  case ed25519 = "ssh-ed25519"
  case rsa = "ssh-rsa"
  case p256 = "ecdsa-sha2-nistp256"
  case p384 = "ecdsa-sha2-nistp384"
  case p521 = "ecdsa-sha2-nistp521"

  private static let certificateSuffix = "-cert-v01@openssh.com"

  /// The name of a certificate for such a key. Source: OpenSSH's PROTOCOL.certkeys.
  package var certificateName: String { rawValue + Self.certificateSuffix }

  /// The kind that a key's or a certificate's name means.
  package static func named(_ name: String) -> (type: SSHKeyType, isCertificate: Bool)? {
    if let type = SSHKeyType(rawValue: name) { return (type, false) }
    return allCases.first { $0.certificateName == name }.map { ($0, true) }
  }

  /// Whether a login with such a key, or a certificate for it, may name this algorithm.
  func fits(algorithm: String) -> Bool {
    let plain = algorithm.hasSuffix(Self.certificateSuffix) ? String(algorithm.dropLast(Self.certificateSuffix.count)) : algorithm
    return self == .rsa ? ["rsa-sha2-256", "rsa-sha2-512"].contains(plain) : plain == rawValue
  }

  var curve: Curve? {
    switch self {
    case .ed25519, .rsa: nil
    case .p256: Curve(name: "nistp256", libraryName: "NIST P-256", count: 32, hash: .sha256)
    case .p384: Curve(name: "nistp384", libraryName: "NIST P-384", count: 48, hash: .sha384)
    case .p521: Curve(name: "nistp521", libraryName: "NIST P-521", count: 66, hash: .sha512)
    }
  }
}

/// A curve of NIST's with the hash that SSH gives it. Source: RFC 5656, sections 6.2.1 and 10.1.
struct Curve {
  let name: String
  let libraryName: String
  /// Bytes of a coordinate.
  let count: Int
  let hash: GcryptHash
}

/// Limits of RSA keys. NIST SP 800-131A ends shorter ones; one use of 16 384 bits takes over a second, and of more as many
/// times as the cube of the length.
enum RSALimit {
  static let bits = 2048...16_384
  static let bytes = 16_384 / 8
  /// Bytes of a public exponent. Longer ones gain nothing and make each verification as slow as a signature. Source: OpenSSL's
  /// `OPENSSL_RSA_MAX_PUBEXP_BITS`.
  static let exponentBytes = 8
}
