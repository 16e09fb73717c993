/// The checksum of a journal record: tells a complete record from a torn or stale one. It is no defence against intent.
///
/// Each eight bytes are mixed in by a 128-bit product whose halves are folded together. The seed holds the epoch, so that a
/// record left over from before a fold never passes for one of the present.
enum Checksum {
  private static let first: UInt64 = 0xA076_1D64_78BD_642F
  private static let second: UInt64 = 0xE703_7ED1_A0B4_28DB

  @inline(__always)
  static func of(_ bytes: UnsafeRawBufferPointer, epoch: UInt64) -> UInt32 {
    var state = mix(epoch ^ first, UInt64(bytes.count) ^ second)
    var offset = 0
    while offset &+ 8 <= bytes.count {
      state = mix(state ^ UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)), second)
      offset &+= 8
    }
    var tail: UInt64 = 0
    while offset < bytes.count {
      tail = tail << 8 | UInt64(bytes[offset])
      offset &+= 1
    }
    state = mix(state ^ tail, first)
    return UInt32(truncatingIfNeeded: state ^ state >> 32)
  }

  @inline(__always)
  private static func mix(_ left: UInt64, _ right: UInt64) -> UInt64 {
    let product = left.multipliedFullWidth(by: right)
    return product.high ^ product.low
  }
}
