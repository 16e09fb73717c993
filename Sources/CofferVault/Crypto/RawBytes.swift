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
  func part(_ range: Range<Int>) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: self[range]) }
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
