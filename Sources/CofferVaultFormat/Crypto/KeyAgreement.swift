internal import CCofferSodium
internal import CofferMemory

/// X25519. Source: RFC 7748, section 5; libsodium `crypto_scalarmult`.
enum KeyAgreement {
  static let keyBytes = 32

  static func publicKey(of secret: UnsafeRawBufferPointer) -> PublicKey32 {
    precondition(secret.count == keyBytes)
    _ = Sodium.ready
    return PublicKey32(filling: { _ = crypto_scalarmult_base($0.u8, secret.u8) })
  }

  /// Wipes the shared secret after `body`.
  ///
  /// - Throws: ``FormatError/damaged(_:_:)`` for a point of low order, whose shared secret is zero for every secret key.
  static func withShared<Result: ~Copyable>(
    _ secret: UnsafeRawBufferPointer, _ publicKey: PublicKey32, part: String,
    _ body: (UnsafeRawBufferPointer) throws(FormatError) -> Result
  ) throws(FormatError) -> Result {
    precondition(secret.count == keyBytes)
    _ = Sodium.ready
    return try withWipedScratch(32) { (shared) throws(FormatError) in
      guard publicKey.withBytes({ crypto_scalarmult(shared.u8, secret.u8, $0.u8) }) == 0 else {
        throw .damaged(part, "its public key is a point of low order")
      }
      return try body(UnsafeRawBufferPointer(shared))
    }
  }
}
