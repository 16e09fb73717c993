internal import CofferMemory

/// Writes the fields of one part of a vault in place: into an array, or into guarded memory for secrets. Both have their
/// final length, so growing leaves no copy of a secret behind.
package struct ByteWriter {
  private let out: UnsafeMutableRawBufferPointer
  package private(set) var count = 0

  private init(_ out: UnsafeMutableRawBufferPointer) { self.out = out }

  package static func bytes(_ count: Int, _ body: (inout ByteWriter) -> Void) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: count) { out, written in
      fill(UnsafeMutableRawBufferPointer(start: out.baseAddress, count: count), body)
      written = count
    }
  }

  static func secret(_ count: Int, _ body: (inout ByteWriter) -> Void) throws(FormatError) -> SecretBytes {
    try SecretBytes(count: count, memory: FormatError.memory) { (out) throws(FormatError) in fill(out, body) }
  }

  static func fill(_ out: UnsafeMutableRawBufferPointer, _ body: (inout ByteWriter) -> Void) {
    var writer = ByteWriter(out)
    body(&writer)
    precondition(writer.count == out.count, "a part is as long as was announced")
  }

  @inline(__always)
  package mutating func write(_ bytes: UnsafeRawBufferPointer) {
    precondition(bytes.count <= out.count - count, "a part is as long as was announced")
    out.part(count..<count + bytes.count).copyMemory(from: bytes)
    count += bytes.count
  }

  mutating func fill(_ length: Int, _ body: (UnsafeMutableRawBufferPointer) -> Void) {
    precondition(length <= out.count - count, "a part is as long as was announced")
    body(out.part(count..<count + length))
    count += length
  }

  package mutating func write(_ bytes: [UInt8]) { bytes.span.bytes.withUnsafeBytes { write($0) } }

  package mutating func write(_ text: StaticString) {
    write(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  @inline(__always)
  package mutating func write<Number: FixedWidthInteger>(_ number: Number) {
    withUnsafeBytes(of: number.littleEndian) { write($0) }
  }

  @inline(__always)
  package mutating func write<Role>(_ block: Block16<Role>) { block.withBytes { write($0) } }

  @inline(__always)
  package mutating func write<Role>(_ block: Block32<Role>) { block.withBytes { write($0) } }

  /// lp(x).
  package mutating func write(prefixed bytes: [UInt8]) {
    write(UInt32(truncatingIfNeeded: bytes.count))
    write(bytes)
  }

  /// ls(x).
  mutating func write(short bytes: [UInt8]) {
    write(UInt16(truncatingIfNeeded: bytes.count))
    write(bytes)
  }

  /// ls(x) of the text's UTF-8.
  package mutating func write(short text: String) {
    let utf8 = text.utf8Span
    utf8.span.bytes.withUnsafeBytes { bytes in
      write(UInt16(truncatingIfNeeded: bytes.count))
      write(bytes)
    }
  }

  /// An empty extension.
  mutating func writeNoExtension() { write(0 as UInt16) }
}
