internal import CCofferSodium
internal import CofferMemory

/// Where empty buffers point: libsodium's parameters are declared non-null even for no bytes.
private nonisolated(unsafe) let nowhere = UnsafeMutableRawPointer.allocate(byteCount: 1, alignment: 1)

// libsodium speaks of `unsigned char`.
extension UnsafeRawBufferPointer {
  @inline(__always)
  var u8: UnsafePointer<UInt8> { (baseAddress ?? UnsafeRawPointer(nowhere)).assumingMemoryBound(to: UInt8.self) }

  /// No bytes.
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

/// Lends `count` bytes of the stack to `body` and wipes them afterwards: for a key that lives for one call, on paths where
/// a block of guarded memory would cost more than the cryptography.
@inline(__always)
func withWipedScratch<Result: ~Copyable, Failure: Error>(
  _ count: Int, alignment: Int = 16, _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Result
) throws(Failure) -> Result {
  try withUnsafeTemporaryAllocation(byteCount: count, alignment: alignment) { (scratch) throws(Failure) in
    defer { sodium_memzero(scratch.u8, scratch.count) }
    return try body(scratch)
  }
}

/// Lowercase hexadecimal, two digits a byte, of public bytes.
package enum Hex {
  package static func text(_ bytes: some Collection<UInt8>) -> String {
    String(decoding: bytes.lazy.flatMap { [digit($0 >> 4), digit($0 & 15)] }, as: UTF8.self)
  }

  /// The ASCII digit of a value below 16, without a table: a table's cache lines would tell of the digit.
  static func digit(_ value: UInt8) -> UInt8 {
    let letter = (value &+ 6) >> 4  // 1 for ten and above
    return 48 &+ value &+ letter &* 39
  }

  /// The value of a lowercase digit; of any other byte, some value below 16. Without branches, as the digits may be a key's: the
  /// sign of a difference in the place of the sixth bit is a comparison to the compiler, which made a branch of it that the time
  /// told of.
  static func value(_ digit: UInt8) -> UInt8 {
    let letter = digit >> 6  // 1 for the letters
    return (digit & 15 &+ letter &* 9) & 15
  }
}
