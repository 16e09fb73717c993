internal import CofferPlatform

/// The owner of the memory has measured it.
struct ByteWriter {
  private let buffer: UnsafeMutableRawBufferPointer
  private var offset: Int

  @inline(__always)
  init(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int) {
    self.buffer = buffer
    self.offset = offset
  }

  @inline(__always)
  mutating func put<Number: FixedWidthInteger & BitwiseCopyable>(_ number: Number) {
    buffer.storeBytes(of: number.littleEndian, toByteOffset: offset, as: Number.self)
    offset &+= MemoryLayout<Number>.size
  }

  @inline(__always)
  mutating func put(_ text: String) { put(text.utf8Span.span.bytes) }

  @inline(__always)
  mutating func put(_ bytes: RawSpan) {
    put(UInt32(bytes.byteCount))
    bytes.withUnsafeBytes { UnsafeMutableRawBufferPointer(rebasing: buffer[offset...]).copyMemory(from: $0) }
    offset &+= bytes.byteCount
  }

  mutating func put(_ id: TransactionID) {
    for byte in id.bytes { put(byte) }
  }
}

/// Every take is nil once the bytes run out.
struct ByteReader {
  private let buffer: UnsafeRawBufferPointer
  private var offset = 0

  init(_ buffer: UnsafeRawBufferPointer) { self.buffer = buffer }

  var isAtEnd: Bool { offset == buffer.count }

  mutating func byte() -> UInt8? { number(UInt8.self) }

  mutating func number<Number: FixedWidthInteger & BitwiseCopyable>(_: Number.Type) -> Number? {
    guard buffer.count - offset >= MemoryLayout<Number>.size else { return nil }
    defer { offset += MemoryLayout<Number>.size }
    return Number(littleEndian: buffer.loadUnaligned(fromByteOffset: offset, as: Number.self))
  }

  mutating func bytes() -> UnsafeRawBufferPointer? {
    guard let count = number(UInt32.self), Int(count) <= buffer.count - offset else { return nil }
    return take(Int(count))
  }

  mutating func text() -> String? { bytes().flatMap { String(validating: $0.bindMemory(to: UInt8.self), as: UTF8.self) } }

  mutating func transaction() -> TransactionID? {
    guard buffer.count - offset >= Record.idBytes else { return nil }
    return TransactionID(Array(take(Record.idBytes)))
  }

  private mutating func take(_ count: Int) -> UnsafeRawBufferPointer {
    defer { offset += count }
    return UnsafeRawBufferPointer(rebasing: buffer[offset..<offset + count])
  }
}

/// Tells a complete journal record from a torn or stale one. It does not protect against intent.
///
/// A 128-bit product mixes in each eight bytes, and its halves are folded together. The seed holds the epoch and the previous
/// record's checksum, so that no record from before a fold, or after other bytes, passes.
enum Checksum {
  private static let first: UInt64 = 0xA076_1D64_78BD_642F
  private static let second: UInt64 = 0xE703_7ED1_A0B4_28DB

  @inline(__always)
  static func of(_ bytes: UnsafeRawBufferPointer, epoch: UInt64, after before: UInt32) -> UInt32 {
    var state = mix(epoch ^ UInt64(before) << 32 ^ first, UInt64(bytes.count) ^ second)
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
