internal import CCofferSodium

/// ISO/IEC 7816-4 padding, a byte 0x80 and zeros, so that sizes show as classes. Source: libsodium `sodium_pad`.
enum Padding {
  /// What is said about an item: names, label, attributes.
  static let metaBlock = 128

  /// Values below 2 048 bytes come in steps of 256; above, in eight steps for each doubling: at most an eighth is added.
  static func valueBlock(_ count: Int) -> Int {
    guard count >= 2048 else { return 256 }
    return 1 << (Int.bitWidth - 1 - count.leadingZeroBitCount - 3)
  }

  /// The length of `count` bytes padded to whole blocks; at least one byte is added.
  static func padded(_ count: Int, block: Int) -> Int { (count / block + 1) * block }

  /// Pads the first `count` bytes of `buffer` in place to its whole length.
  static func pad(_ buffer: UnsafeMutableRawBufferPointer, count: Int) {
    // The whole buffer as one block: the padding then reaches exactly to its end.
    let status = sodium_pad(nil, buffer.u8, count, buffer.count, buffer.count)
    precondition(status == 0, "a padded buffer is longer than its content")
  }

  /// How many bytes of `buffer` are content, in a time that does not depend on it.
  ///
  /// - Parameter block: the block size for a content of that length; another length of `buffer` would be a second encoding.
  static func unpadded(
    _ buffer: UnsafeRawBufferPointer, part: String, block: (Int) -> Int
  ) throws(FormatError) -> Int {
    var count = 0
    guard !buffer.isEmpty, sodium_unpad(&count, buffer.u8, buffer.count, buffer.count) == 0 else {
      throw .damaged(part, "its padding is not a byte 80 and zeros")
    }
    guard padded(count, block: block(count)) == buffer.count else {
      throw .damaged(part, "its padding has another length than its content asks for")
    }
    return count
  }
}
