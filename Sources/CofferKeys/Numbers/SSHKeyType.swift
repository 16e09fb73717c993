package import CofferPlatform

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
  ///
  /// - Throws: ``StoreError`` `.unsupported` for another name.
  package static func named(_ name: String) throws(StoreError) -> (type: SSHKeyType, isCertificate: Bool) {
    if let type = SSHKeyType(rawValue: name) { return (type, false) }
    if let type = allCases.first(where: { $0.certificateName == name }) { return (type, true) }
    throw .unusable("keys of type '\(name.prefix(64))' are not used")
  }

  /// The kind of a key's or a certificate's blob.
  ///
  /// - Throws: as ``named(_:)``; ``StoreError`` `.undecodable` for other bytes.
  package static func of(_ blob: [UInt8]) throws(StoreError) -> (type: SSHKeyType, isCertificate: Bool) {
    try blob.withBytes { (raw) throws(StoreError) in
      var reader = SSHReader(raw)
      return try named(reader.text())
    }
  }

  /// Whether a login with such a key, or a certificate for it, may name this algorithm.
  func fits(algorithm: String) -> Bool {
    let plain = algorithm.hasSuffix(Self.certificateSuffix) ? String(algorithm.dropLast(Self.certificateSuffix.count)) : algorithm
    return self == .rsa ? GcryptHash(rsaAlgorithm: plain) != nil : plain == rawValue
  }

  var curve: Curve? {
    switch self {
    case .ed25519, .rsa: nil
    case .p256: Curve(name: "nistp256", libraryName: "NIST P-256", count: 32, hash: .sha256)
    case .p384: Curve(name: "nistp384", libraryName: "NIST P-384", count: 48, hash: .sha384)
    case .p521: Curve(name: "nistp521", libraryName: "NIST P-521", count: 66, hash: .sha512)
    }
  }

  /// The fields of a public key after its type, under libgcrypt's names. That of Ed25519 is called as that of ECDSA.
  var publicNames: [String] { self == .rsa ? ["e", "n"] : curve == nil ? ["q"] : ["curve", "q"] }

  /// Those of a private key. OpenSSH's inverse is that of its second prime modulo its first, libgcrypt's that of its first modulo
  /// its second: the primes change their names. Source: OpenSSH's PROTOCOL.key.
  var privateNames: [String] { self == .rsa ? ["n", "e", "d", "u", "q", "p"] : publicNames + ["d"] }

  /// Those of a request to add a key with its certificate, which has the public ones. Source: OpenSSH's PROTOCOL.certkeys.
  var certifiedNames: [String] { self == .ed25519 ? privateNames : privateNames.filter { !publicNames.contains($0) } }
}

/// A curve of NIST's, its bytes of a coordinate, and the hash that SSH gives it. Source: RFC 5656, sections 6.2.1 and 10.1.
struct Curve {
  let name, libraryName: String
  let count: Int
  let hash: GcryptHash
}
