package import CofferPlatform

/// A certificate of OpenSSH's, checked: its authority's signature verifies. Whether the authority is trusted, and the certificate
/// valid at a time and for a name, its user must ask.
///
/// Source: OpenSSH's PROTOCOL.certkeys.
package struct SSHCertificate: Sendable, Hashable {
  package enum Kind: UInt32, Sendable { case user = 1, host = 2 }

  /// The certificate as SSH sends it.
  package let blob: [UInt8]
  /// The certified key.
  package let key: SSHPublicKey
  package let kind: Kind
  /// User names, or host names that may have `*` and `?`. Without any a certificate is valid for nothing here.
  package let principals: [String]
  /// Seconds since 1970, the latter excluded.
  package let validAfter, validBefore: UInt64
  package let criticalOptions: [String]
  package let authority: SSHPublicKey

  /// The most names, as in OpenSSH: each is compared with a host's name.
  private static let mostPrincipals = 256

  /// - Throws: ``StoreError`` `.undecodable` for a malformed certificate, and one whose signature does not verify; `.unsupported`
  ///   as ``SSHPublicKey/init(blob:)``.
  package init(blob: [UInt8]) throws(StoreError) {
    self = try blob.read { (reader) throws(StoreError) in try SSHCertificate(blob, &reader) }
  }

  private init(_ blob: [UInt8], _ reader: inout SSHReader) throws(StoreError) {
    let (type, isCertificate) = try SSHKeyType.named(reader.text())
    guard isCertificate else { throw .unusable("a key stands in place of a certificate") }
    _ = try reader.string()  // A nonce.
    key = try SSHPublicKey(KeyNumbers(type, type.publicNames, from: &reader))
    _ = try reader.uint64()  // Its serial number.
    guard let kind = Kind(rawValue: try reader.uint32()) else {
      throw .malformedKey("a certificate is for neither a user nor a host")
    }
    _ = try reader.text()  // Its name for people.
    var (names, principals) = (SSHReader(try reader.string()), [String]())
    while !names.isAtEnd, principals.count <= Self.mostPrincipals { principals.append(try names.text()) }
    guard principals.count <= Self.mostPrincipals else {
      throw .malformedKey("a certificate has more than \(Self.mostPrincipals) names")
    }
    (validAfter, validBefore) = (try reader.uint64(), try reader.uint64())
    criticalOptions = try Self.options(reader.string())
    _ = try Self.options(reader.string())  // Extensions, which may be ignored.
    _ = try reader.string()  // Reserved.
    authority = try SSHPublicKey(blob: Array(reader.string()))
    let signed = reader.bytes(from: 0, to: reader.offset)
    guard authority.verify(try reader.string(), of: signed) else { throw .malformedKey("a certificate's signature is wrong") }
    (self.blob, self.kind, self.principals) = (blob, kind, principals)
  }

  /// Names, in ascending order and each once. Their data are skipped.
  private static func options(_ raw: UnsafeRawBufferPointer) throws(StoreError) -> [String] {
    var (reader, names) = (SSHReader(raw), [String]())
    while !reader.isAtEnd {
      let name = try reader.text()
      guard (names.last ?? "").utf8.lexicographicallyPrecedes(name.utf8) else {
        throw .malformedKey("a certificate's options are not in order")
      }
      names.append(name)
      _ = try reader.string()
    }
    return names
  }

  /// Whether it proves that its key is that of `host`, in the opinion of one of `authorities`. No critical option of a host's is
  /// defined, and an unknown one forbids its use.
  package func proves(host: String, at seconds: UInt64, authorities: some Sequence<SSHPublicKey>) -> Bool {
    kind == .host && validAfter <= seconds && seconds < validBefore && criticalOptions.isEmpty && authorities.contains(authority)
      && principals.contains { host.lowercased().matches(pattern: $0.lowercased()) }
  }

  /// `TYPE BASE64 COMMENT`.
  ///
  /// - Throws: as ``init(blob:)``.
  package init(line: String) throws(StoreError) { try self.init(blob: SSHLine.blob(of: line)) }
  package func line(comment: String) -> String { SSHLine.text(key.type.certificateName, blob, comment) }
}

extension String {
  /// Whether `pattern`, with `*` and `?`, is this text, byte by byte. Takes at most the product of both lengths.
  ///
  /// Source: OpenSSH's ssh_config(5), "PATTERNS".
  package func matches(pattern: String) -> Bool {
    let (name, pattern) = (Array(utf8), Array(pattern.utf8))
    var (at, next, star): (Int, Int, (next: Int, at: Int)?) = (0, 0, nil)
    while at < name.count {
      if next < pattern.count, pattern[next] == UInt8(ascii: "*") {
        next += 1
        star = (next, at)
      } else if next < pattern.count, pattern[next] == UInt8(ascii: "?") || pattern[next] == name[at] {
        (at, next) = (at + 1, next + 1)
      } else if let last = star {
        // The last star takes one more.
        star = (last.next, last.at + 1)
        (at, next) = (last.at + 1, last.next)
      } else {
        return false
      }
    }
    return pattern[next...].allSatisfy { $0 == UInt8(ascii: "*") }
  }
}
