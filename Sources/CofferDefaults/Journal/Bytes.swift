internal import CofferPlatform
internal import CofferStorage

/// Puts numbers, text and bytes one after the other into memory that its owner has measured.
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

  /// A length in four bytes, then the UTF-8.
  @inline(__always)
  mutating func put(_ text: String) { put(text.utf8Span.span.bytes) }

  /// A length in four bytes, then the bytes.
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

/// Takes what ``ByteWriter`` put. Every take is nil once the bytes do not suffice.
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
