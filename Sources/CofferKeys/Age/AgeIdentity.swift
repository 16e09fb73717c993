internal import CCofferSodium
package import CofferMemory
package import CofferPlatform

/// A private key of age's. Source: C2SP age, "X25519 recipient stanza".
package struct AgeIdentity: ~Copyable, Sendable {
  private static let prefix = "AGE-SECRET-KEY-"

  private let scalar: SecretBytes
  /// The public half.
  package let recipient: AgeRecipient

  private init(scalar: consuming SecretBytes) {
    _ = Sodium.ready
    var point = [UInt8](repeating: 0, count: AgeRecipient.keyCount)
    _ = scalar.withAddress { crypto_scalarmult_base(&point, $0) == 0 }
    recipient = AgeRecipient(point: point)
    self.scalar = scalar
  }

  /// A new identity.
  ///
  /// - Throws: ``StoreError`` `.memory`.
  package static func generate() throws(StoreError) -> AgeIdentity {
    AgeIdentity(scalar: try StoreError.guarding { try SecretBytes.random(AgeRecipient.keyCount) })
  }

  /// - Parameter text: `AGE-SECRET-KEY-1…`; white space may follow, as in a file of one line.
  /// - Throws: ``StoreError`` `.undecodable`; `.memory`.
  package init(text: borrowing SecretBytes) throws(StoreError) {
    let scalar = try StoreError.guarding {
      let count = text.withUnsafeBytes { raw in raw.count - raw.reversed().prefix { $0 <= 0x20 }.count }
      return try SecretBech32.decode(text.prefix(count), prefix: Self.prefix)
    }
    guard let scalar, scalar.count == AgeRecipient.keyCount else {
      throw .malformedKey("the text is not an identity of age's, AGE-SECRET-KEY-1…")
    }
    self.init(scalar: scalar)
  }

  /// `AGE-SECRET-KEY-1…`, without a newline.
  ///
  /// - Throws: ``StoreError`` `.memory`.
  package func text() throws(StoreError) -> SecretBytes {
    try StoreError.guarding {
      try SecretBytes.written { put in scalar.withUnsafeBytes { SecretBech32.encode($0, prefix: Self.prefix, put) } }
    }
  }

  /// The file key of an X25519 stanza; nil if it is for another identity.
  ///
  /// - Parameters:
  ///   - share: the stanza's argument, 32 bytes.
  ///   - body: the stanza's body, 32 bytes.
  /// - Throws: ``StoreError`` `.undecodable` for other counts and for a share of low order; `.afterFork`; `.memory`.
  package func unwrap(share: UnsafeRawBufferPointer, body: UnsafeRawBufferPointer) throws(StoreError) -> SecretBytes? {
    guard share.count == AgeRecipient.keyCount, body.count == AgeRecipient.fileKeyCount + AgeRecipient.tagCount else {
      throw .malformedKey("a stanza of age's does not have 32 bytes of share and of body")
    }
    let share = Array(share)
    let key = try wrappingKey(with: share, share: share, recipient: recipient.point)
    var fileKey = try StoreError.guarding { try SecretBytes(zeros: AgeRecipient.fileKeyCount) }
    let (nonce, body) = ([UInt8](repeating: 0, count: 12), Array(body))
    let isOpened = fileKey.withMutableAddress { out in
      key.withAddress {
        crypto_aead_chacha20poly1305_ietf_decrypt(out, nil, nil, body, UInt64(body.count), nil, 0, nonce, $0) == 0
      }
    }
    return isOpened ? consume fileKey : nil
  }

  /// The key of a stanza's body, from the secret shared with `point`.
  func wrappingKey(with point: [UInt8], share: [UInt8], recipient: [UInt8]) throws(StoreError) -> SecretBytes {
    guard scalar.isIntact else {
      throw StoreError(.afterFork, "the identity belongs to the parent of this process", cure: "open the vault in this process")
    }
    return try StoreError.guarding {
      var shared = try SecretBytes(zeros: AgeRecipient.keyCount)
      let isUsable = shared.withMutableAddress { out in scalar.withAddress { crypto_scalarmult(out, $0, point) == 0 } }
      // Its shared secret is 0 for everybody.
      guard isUsable else { throw StoreError.malformedKey("a share of age's has a low order") }
      let salt = try (share + recipient).withBytes { (raw) throws(SecretMemoryError) in try SecretBytes(copying: raw) }
      return try shared.withUnsafeBytes { (raw) throws(SecretMemoryError) in
        try SecretDigest.sha256.derive(from: raw, salt: salt, info: "age-encryption.org/v1/X25519")
      }
    }
  }
}
