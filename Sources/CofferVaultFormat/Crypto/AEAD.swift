internal import CCofferSodium

/// XChaCha20-Poly1305-IETF, with the 16-byte tag at the end of the box.
///
/// It does not commit to its key: a box can be made that opens under two. If its writer may not have known the key, use
/// ``CommittedBox``.
///
/// Source: draft-irtf-cfrg-xchacha-03; libsodium `crypto_aead_xchacha20poly1305_ietf`.
package enum AEAD {
  static let keyBytes = 32
  package static let tagBytes = 16

  /// Writes the box of `message` to `out`, which is ``tagBytes`` longer.
  @inline(__always)
  package static func seal(
    _ message: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer, nonce: Nonce24, ad: UnsafeRawBufferPointer = .noBytes,
    into out: UnsafeMutableRawBufferPointer
  ) {
    precondition(key.count == keyBytes && out.count == message.count + tagBytes)
    _ = nonce.withBytes { nonce in
      crypto_aead_xchacha20poly1305_ietf_encrypt(
        out.u8, nil, message.u8, UInt64(message.count), ad.u8, UInt64(ad.count), nil, nonce.u8, key.u8)
    }
  }

  /// Writes the message of `box` to `out`, which is ``tagBytes`` shorter. Returns false and writes nothing if the tag is
  /// invalid.
  @inline(__always)
  package static func open(
    _ box: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer, nonce: Nonce24, ad: UnsafeRawBufferPointer = .noBytes,
    into out: UnsafeMutableRawBufferPointer
  ) -> Bool {
    precondition(key.count == keyBytes && out.count == box.count - tagBytes)
    return verify(box, key: key, nonce: nonce, ad: ad, message: out.u8)
  }

  /// Whether the tag of `box` is valid. Decrypts nothing.
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

/// ISO/IEC 7816-4 padding, a byte 0x80 and zeros, so sizes show only as classes. Same as libsodium's `sodium_pad`.
enum Padding {
  /// For the description of an item: names, label, attributes.
  static let metaBlock = 128

  /// Values below 2 048 bytes come in steps of 256; above, in eight steps per doubling: at most an eighth is added.
  static func valueBlock(_ count: Int) -> Int {
    guard count >= 2048 else { return 256 }
    return 1 << (Int.bitWidth - 1 - count.leadingZeroBitCount - 3)
  }

  /// The length of `count` bytes padded to whole blocks; adds at least one byte.
  static func padded(_ count: Int, block: Int) -> Int { (count / block + 1) * block }

  /// Pads the first `count` bytes of `buffer` in place to its whole length.
  static func pad(_ buffer: UnsafeMutableRawBufferPointer, count: Int) {
    precondition(count < buffer.count, "a padded buffer is longer than its content")
    buffer[count] = mark
    for place in count + 1..<buffer.count { buffer[place] = 0 }
  }

  /// The number of content bytes in `buffer`.
  ///
  /// The time depends on the content's length, which is no secret from anyone who can measure in this process. libsodium's
  /// `sodium_unpad` hides that too, at three times the cost of decrypting. Nobody can choose the buffer without the key,
  /// because its tag was checked.
  ///
  /// - Parameter block: the block size for a content of that length; another length of `buffer` would be a second encoding.
  static func unpadded(
    _ buffer: UnsafeRawBufferPointer, part: String, block: (Int) -> Int
  ) throws(FormatError) -> Int {
    var count = buffer.count - 1
    // Most of the padding, eight bytes at a time: nearly all of a short value is padding.
    while count >= 7, buffer.loadUnaligned(fromByteOffset: count - 7, as: UInt64.self) == 0 { count -= 8 }
    while count >= 0, buffer[count] == 0 { count -= 1 }
    guard count >= 0, buffer[count] == mark else { throw .damaged(part, "its padding is not a byte 80 and zeros") }
    guard padded(count, block: block(count)) == buffer.count else {
      throw .damaged(part, "its padding has another length than its content asks for")
    }
    return count
  }

  private static let mark: UInt8 = 0x80
}
