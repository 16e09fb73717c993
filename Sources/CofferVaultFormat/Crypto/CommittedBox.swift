internal import CCofferSodium
internal import CofferMemory

/// A box that opens under one key only: nonce 24, commitment 32, then the AEAD box of the message.
///
/// The commitment is a keyed hash of nonce and ciphertext. Its key comes from the same derivation as the encryption key. A
/// reader checks it before it decrypts. Without it, one box could open under many passphrases, and each try would test all
/// of them (partitioning oracle, Len, Grubbs and Ristenpart 2021).
///
/// The nonce is 24 random bytes, which do not repeat by chance (libsodium, XChaCha20-Poly1305). The context goes into the keys
/// as well, so few boxes share a key.
package struct CommittedBox: Hashable, Sendable {
  static let overhead = 24 + 32 + AEAD.tagBytes

  /// Nonce, commitment, ciphertext and tag.
  let bytes: [UInt8]

  package init(bytes: [UInt8]) { self.bytes = bytes }

  /// The purpose of a box: the two labels of its keys.
  package struct Purpose: Sendable {
    fileprivate let encryption: Label
    fileprivate let commitment: Label
    /// A slot's secret key, under the owner's secret.
    static let own = Purpose(encryption: Label("PV1 own kek"), commitment: Label("PV1 own com"))
    /// The vault key, under a slot's key pair.
    static let seal = Purpose(encryption: Label("PV1 seal kek"), commitment: Label("PV1 seal com"))
    /// The sealed part of the header.
    static let head = Purpose(encryption: Label("PV1 head kek"), commitment: Label("PV1 head com"))
    /// The state.
    static let state = Purpose(encryption: Label("PV1 state kek"), commitment: Label("PV1 state com"))
    /// A queued commit, under the state's key. No file has one.
    static let intent = Purpose(encryption: Label("PV1 intent kek"), commitment: Label("PV1 intent com"))
  }

  /// Seals `message` under a key of at least 16 bytes, bound to `context`.
  static func seal<Role>(
    _ message: UnsafeRawBufferPointer, under ikm: UnsafeRawBufferPointer, for purpose: Purpose, salt: Block16<Role>,
    context: [UInt8]
  ) -> CommittedBox {
    let count = message.count + overhead
    return CommittedBox(
      bytes: ByteWriter.bytes(count) { out in
        out.fill(count) { seal(message, under: ikm, for: purpose, salt: salt, context: context, into: $0) }
      })
  }

  /// The same in the place of the box, which is ``overhead`` bytes longer than the message.
  static func seal<Role>(
    _ message: UnsafeRawBufferPointer, under ikm: UnsafeRawBufferPointer, for purpose: Purpose, salt: Block16<Role>,
    context: [UInt8], into out: UnsafeMutableRawBufferPointer
  ) {
    let nonce = Nonce24.random()
    withKeys(ikm, purpose, salt, context) { encryption, commitment, context in
      nonce.withBytes { out.part(0..<24).copyMemory(from: $0) }
      let box = out.part(56..<out.count)
      AEAD.seal(message, key: encryption, nonce: nonce, ad: context, into: box)
      KeyedHash.compute(commitment, purpose.commitment, salt: salt, into: out.part(24..<56)) { hash in
        hash.update(UnsafeRawBufferPointer(out.part(0..<24)))
        hash.update(UnsafeRawBufferPointer(box))
      }
    }
  }

  /// The message, in guarded memory. Checks length, then commitment in constant time, then the tag.
  ///
  /// - Throws: ``FormatError/unauthentic(_:)`` for `part` if a check fails.
  func open<Role>(
    under ikm: UnsafeRawBufferPointer, for purpose: Purpose, salt: Block16<Role>, context: [UInt8], part: String
  ) throws(FormatError) -> SecretBytes {
    try bytes.span.bytes.withUnsafeBytes { (all) throws(FormatError) in
      guard all.count >= Self.overhead, let nonce = Nonce24(all.part(0..<24)) else { throw .unauthentic(part) }
      return try Self.withKeys(ikm, purpose, salt, context) { (encryption, commitment, context) throws(FormatError) in
        guard Self.commits(all, commitment, purpose, salt) else { throw .unauthentic(part) }
        return try SecretBytes(count: all.count - Self.overhead, memory: FormatError.memory) { (out) throws(FormatError) in
          guard AEAD.open(all.part(56..<all.count), key: encryption, nonce: nonce, ad: context, into: out) else {
            throw .unauthentic(part)
          }
        }
      }
    }
  }

  private static func commits<Role>(
    _ all: UnsafeRawBufferPointer, _ key: UnsafeRawBufferPointer, _ purpose: Purpose, _ salt: Block16<Role>
  ) -> Bool {
    let expected: Digest32 = KeyedHash.digest(key, purpose.commitment, salt: salt) { hash in
      hash.update(all.part(0..<24))
      hash.update(all.part(56..<all.count))
    }
    return expected.withBytes { sodium_memcmp($0.baseAddress, all.part(24..<56).baseAddress, 32) == 0 }
  }

  private static func withKeys<Role, Result: ~Copyable, Failure: Error>(
    _ ikm: UnsafeRawBufferPointer, _ purpose: Purpose, _ salt: Block16<Role>, _ context: [UInt8],
    _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try context.span.bytes.withUnsafeBytes { (context) throws(Failure) in
      try withWipedScratch(64) { (keys) throws(Failure) in
        KeyedHash.compute(ikm, purpose.encryption, salt: salt, into: keys) { $0.update(context) }
        let keys = UnsafeRawBufferPointer(keys)
        return try body(keys.part(0..<32), keys.part(32..<64), context)
      }
    }
  }
}
