internal import CCofferSodium
internal import CofferMemory

/// XChaCha20-Poly1305-IETF, the tag of 16 bytes at the end of the box.
///
/// It does not commit to its key: one box can be made that opens under two. Where whoever wrote the box may not have known
/// the key, ``CommittedBox`` is used instead.
///
/// Source: draft-irtf-cfrg-xchacha-03; libsodium `crypto_aead_xchacha20poly1305_ietf`.
enum AEAD {
  static let keyBytes = 32
  static let tagBytes = 16

  /// Writes the box of `message` to `out`, which is ``tagBytes`` longer.
  @inline(__always)
  static func seal(
    _ message: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer, nonce: Nonce24, ad: UnsafeRawBufferPointer = .noBytes,
    into out: UnsafeMutableRawBufferPointer
  ) {
    precondition(key.count == keyBytes && out.count == message.count + tagBytes)
    _ = nonce.withBytes { nonce in
      crypto_aead_xchacha20poly1305_ietf_encrypt(
        out.u8, nil, message.u8, UInt64(message.count), ad.u8, UInt64(ad.count), nil, nonce.u8, key.u8)
    }
  }

  /// Writes the message of `box` to `out`, which is ``tagBytes`` shorter. False, and nothing written, when the tag does not fit.
  @inline(__always)
  static func open(
    _ box: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer, nonce: Nonce24, ad: UnsafeRawBufferPointer = .noBytes,
    into out: UnsafeMutableRawBufferPointer
  ) -> Bool {
    precondition(key.count == keyBytes && out.count == box.count - tagBytes)
    return verify(box, key: key, nonce: nonce, ad: ad, message: out.u8)
  }

  /// Whether the tag of `box` fits. Decrypts nothing.
  @inline(__always)
  static func authenticates(
    _ box: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer, nonce: Nonce24, ad: UnsafeRawBufferPointer = .noBytes
  ) -> Bool {
    box.count >= tagBytes && verify(box, key: key, nonce: nonce, ad: ad, message: nil)
  }

  @inline(__always)
  private static func verify(
    _ box: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer, nonce: Nonce24, ad: UnsafeRawBufferPointer,
    message: UnsafeMutablePointer<UInt8>?
  ) -> Bool {
    let start = box.u8
    let count = box.count - tagBytes
    return nonce.withBytes { nonce in
      crypto_aead_xchacha20poly1305_ietf_decrypt_detached(
        message, nil, start, UInt64(count), start + count, ad.u8, UInt64(ad.count), nonce.u8, key.u8)
    } == 0
  }
}
