internal import CCofferSodium

/// The address of empty buffers: libsodium's parameters are non-null even for no bytes.
private nonisolated(unsafe) let nowhere = UnsafeMutableRawPointer.allocate(byteCount: 1, alignment: 1)

// libsodium uses `unsigned char`.
extension UnsafeRawBufferPointer {
  @inline(__always)
  var u8: UnsafePointer<UInt8> { (baseAddress ?? UnsafeRawPointer(nowhere)).assumingMemoryBound(to: UInt8.self) }

  static var noBytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: nil, count: 0) }

  @inline(__always)
  package func part(_ range: Range<Int>) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: self[range]) }
}

extension UnsafeMutableRawBufferPointer {
  @inline(__always)
  var u8: UnsafeMutablePointer<UInt8> { (baseAddress ?? nowhere).assumingMemoryBound(to: UInt8.self) }

  @inline(__always)
  func part(_ range: Range<Int>) -> UnsafeMutableRawBufferPointer { UnsafeMutableRawBufferPointer(rebasing: self[range]) }
}

/// Lends `count` bytes of the stack to `body` and wipes them afterwards: for a key that lives for one call, where guarded
/// memory would cost more than the cryptography.
@inline(__always)
func withWipedScratch<Result: ~Copyable, Failure: Error>(
  _ count: Int, alignment: Int = 16, _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Result
) throws(Failure) -> Result {
  try withUnsafeTemporaryAllocation(byteCount: count, alignment: alignment) { (scratch) throws(Failure) in
    defer { sodium_memzero(scratch.u8, scratch.count) }
    return try body(scratch)
  }
}

/// Lowercase hexadecimal of public bytes, two digits a byte.
package enum Hex {
  package static func text(_ bytes: some Collection<UInt8>) -> String {
    var digits: [UInt8] = []
    for byte in bytes { digits += [digit(byte >> 4), digit(byte & 15)] }
    return String(decoding: digits, as: UTF8.self)
  }

  /// The bytes of a text of two digits a byte; nil for any other.
  package static func bytes(_ text: String) -> [UInt8]? {
    let digits = text.utf8.compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
    guard digits.count == text.utf8.count, digits.count.isMultiple(of: 2) else { return nil }
    return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
  }

  /// The ASCII digit of a value below 16, without a table, whose cache lines would reveal the digit.
  static func digit(_ value: UInt8) -> UInt8 {
    let letter = (value &+ 6) >> 4  // 1 for ten and above
    return 48 &+ value &+ letter &* 39
  }

  /// The value of a lowercase digit; of any other byte, some value below 16. Branch-free, because the digits may be a key's:
  /// the compiler turned the sign of a difference in place of the sixth bit into a branch, visible in the timing.
  static func value(_ digit: UInt8) -> UInt8 {
    let letter = digit >> 6  // 1 for the letters
    return (digit & 15 &+ letter &* 9) & 15
  }
}
