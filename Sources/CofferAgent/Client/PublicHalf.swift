internal import CofferKeys
package import CofferMemory
package import CofferPlatform
package import FoundationEssentials

/// Work with public halves of keys, which needs no agent.
package enum PublicHalf {
  /// `SHA256:…` of a key's line, as OpenSSH prints it; an age recipient as it is.
  package static func fingerprint(of line: String) throws(StoreError) -> String {
    line.hasPrefix("age1") ? line : try SSHPublicKey(line: line).fingerprint
  }

  /// The line of a certificate, and its end; nil for none before the year 10000.
  package static func certificate(
    _ blob: [UInt8], comment: String
  ) throws(StoreError) -> (line: String, expires: Date?) {
    let certificate = try SSHCertificate(blob: blob)
    let end = certificate.validBefore
    return (certificate.line(comment: comment), end < 253_402_300_800 ? Date(timeIntervalSince1970: Double(end)) : nil)
  }

  /// Whether `bytes` can be the argument of an X25519 stanza of age's: 32 bytes, and not of low order.
  package static func isShare(_ bytes: [UInt8]) -> Bool { AgeRecipient.isShare(bytes) }

  /// The argument and the body of an X25519 stanza of age's, from which the identity of `recipient` gets `fileKey`.
  ///
  /// - Throws: ``/CofferPlatform/StoreError`` `.undecodable` unless `fileKey` has 16 bytes and `recipient` is `age1…`; `.memory`.
  package static func wrap(
    _ fileKey: borrowing SecretBytes, for recipient: String
  ) throws(StoreError) -> (share: [UInt8], body: [UInt8]) {
    try AgeRecipient(text: recipient).wrap(fileKey)
  }
}
