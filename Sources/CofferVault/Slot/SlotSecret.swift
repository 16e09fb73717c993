internal import CofferMemory

/// What opens a slot's box: an X25519 secret key, and a mix key W that only the slot and the sealed header know.
///
/// Both are needed. Who once knew an old vault key, and so every W, cannot open the new one without the secret key; and with W in
/// the mix, breaking X25519 alone (a quantum computer with a copy of the file) does not open a slot. A recipient's W is zeros.
struct SlotSecret: ~Copyable, Sendable {
  static let count = 64
  /// The secret key, then W.
  private let both: SecretBytes

  /// A fresh pair.
  static func random() throws(FormatError) -> SlotSecret { SlotSecret(try SecretBytes.fresh(count)) }

  /// A recipient's: their secret key, and no mix key.
  static func recipient(_ identity: borrowing SecretBytes) throws(FormatError) -> SlotSecret {
    let both = try ByteWriter.secret(count) { out in
      identity.withUnsafeBytes { out.write($0) }
      out.write(Block32<PublicKeyRole>.zero)
    }
    return SlotSecret(both)
  }

  /// Takes over the 64 bytes that a slot's own box held.
  init(_ both: consuming SecretBytes) {
    precondition(both.count == Self.count, "a slot's secret is a secret key and a mix key")
    self.both = both
  }

  borrowing func copy() throws(FormatError) -> SlotSecret { SlotSecret(try both.copy()) }

  /// False in the child of a fork.
  var isIntact: Bool { both.isIntact }

  var publicKey: PublicKey32 { withSecretKey { KeyAgreement.publicKey(of: $0) } }

  borrowing func withSecretKey<Result: ~Copyable, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try both.withUnsafeBytes { (both) throws(Failure) in try body(both.part(0..<32)) }
  }

  borrowing func withMix<Result: ~Copyable, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try both.withUnsafeBytes { (both) throws(Failure) in try body(both.part(32..<64)) }
  }

  /// Lends both, as the own box holds them.
  borrowing func withBoth<Result: ~Copyable, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try both.withUnsafeBytes(body)
  }
}
