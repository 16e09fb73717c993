internal import CCofferSodium
package import CofferMemory
package import CofferPlatform

/// The public half of an ``AgeIdentity``, to which files are encrypted. Source: C2SP age, "X25519 recipient stanza".
package struct AgeRecipient: Sendable, Hashable {
  static let prefix = "age"
  static let keyCount = 32
  /// Bytes of a file key, which age draws for each file.
  static let fileKeyCount = 16
  static let tagCount = 16

  let point: [UInt8]

  init(point: [UInt8]) { self.point = point }

  /// - Parameter text: `age1…`.
  /// - Throws: ``StoreError`` `.undecodable`; `.memory`.
  package init(text: String) throws(StoreError) {
    let point = try decoded(text) { try SecretBech32.decode($0, prefix: Self.prefix) }
    guard let point, point.count == Self.keyCount else { throw .malformedKey("the text is not a recipient of age's, age1…") }
    self.point = point
  }

  /// `age1…`.
  package var text: String {
    var text: [UInt8] = []
    point.withBytes { SecretBech32.encode($0, prefix: Self.prefix) { text.append($0) } }
    return String(decoding: text, as: UTF8.self)
  }

  /// Whether `point` can be the argument of a stanza. One of low order gives everybody the same secret.
  package static func isShare(_ point: [UInt8]) -> Bool {
    var secret = [UInt8](repeating: 0, count: keyCount)
    return point.count == keyCount && crypto_scalarmult(&secret, [UInt8](repeating: 1, count: keyCount), point) == 0
  }

  /// The argument and the body of a stanza from which the recipient's identity gets `fileKey`.
  ///
  /// - Parameter fileKey: 16 bytes.
  /// - Throws: ``StoreError`` `.undecodable` for another count, and for a recipient of low order; `.memory`.
  package func wrap(_ fileKey: borrowing SecretBytes) throws(StoreError) -> (share: [UInt8], body: [UInt8]) {
    guard fileKey.count == Self.fileKeyCount else { throw .malformedKey("a file key does not have 16 bytes") }
    let ephemeral = try AgeIdentity.generate()
    let share = ephemeral.recipient.point
    let key = try ephemeral.wrappingKey(with: point, share: share, recipient: point)
    var body = [UInt8](repeating: 0, count: Self.fileKeyCount + Self.tagCount)
    let nonce = [UInt8](repeating: 0, count: 12)
    let isSealed = key.withAddress { key in
      fileKey.withAddress {
        crypto_aead_chacha20poly1305_ietf_encrypt(&body, nil, $0, UInt64(fileKey.count), nil, 0, nil, nonce, key) == 0
      }
    }
    guard isSealed else { throw .malformedKey("a file key cannot be encrypted") }
    return (share, body)
  }
}
