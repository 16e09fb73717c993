/// Reads the fields of SSH from lent bytes. The results are parts of them, and must not outlive the loan.
///
/// Source: RFC 4251, section 5.
package struct SSHReader {
  private let bytes: UnsafeRawBufferPointer
  /// Bytes read so far.
  package private(set) var offset = 0

  package init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  package var isAtEnd: Bool { offset == bytes.count }

  /// - Throws: ``StoreError`` `.undecodable`, as all that reads, for bytes that end too early.
  package mutating func take(_ count: Int) throws(StoreError) -> UnsafeRawBufferPointer {
    guard count >= 0, count <= bytes.count - offset else { throw .malformedKey("a field is longer than the bytes around it") }
    defer { offset += count }
    return UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + count])
  }

  package mutating func byte() throws(StoreError) -> UInt8 { try take(1)[0] }
  package mutating func uint32() throws(StoreError) -> UInt32 {
    UInt32(bigEndian: try take(4).loadUnaligned(as: UInt32.self))
  }
  package mutating func uint64() throws(StoreError) -> UInt64 {
    UInt64(bigEndian: try take(8).loadUnaligned(as: UInt64.self))
  }
  package mutating func string() throws(StoreError) -> UnsafeRawBufferPointer { try take(Int(uint32())) }

  /// A string that is UTF-8.
  package mutating func text() throws(StoreError) -> String {
    guard let text = String(validating: try string(), as: UTF8.self) else { throw .malformedKey("a text is not UTF-8") }
    return text
  }

  /// A positive `mpint` in its shortest form, of at most `limit` bytes: big-endian, without leading zeros. No number of a
  /// key or a signature is zero.
  package mutating func number(limit: Int) throws(StoreError) -> UnsafeRawBufferPointer {
    let raw = try string()
    guard let first = raw.first, first < 0x80, first > 0 || raw.count > 1 && raw[1] >= 0x80 else {
      throw .malformedKey("a number is not positive, or has a longer form than it needs")
    }
    let digits = first == 0 ? UnsafeRawBufferPointer(rebasing: raw[1...]) : raw
    guard digits.count <= limit else { throw .malformedKey("a number is longer than \(limit) bytes") }
    return digits
  }

  /// The bytes between two offsets.
  package func bytes(from start: Int, to end: Int) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: bytes[start..<end])
  }

  /// Reads all of `bytes`.
  package static func read<Result: ~Copyable>(
    _ bytes: UnsafeRawBufferPointer, _ body: (inout SSHReader) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    var reader = SSHReader(bytes)
    let result = try body(&reader)
    try reader.end()
    return result
  }

  /// Requires that nothing follows.
  package func end() throws(StoreError) {
    guard isAtEnd else { throw .malformedKey("bytes follow after the last field") }
  }
}

extension StoreError {
  /// Bytes that are no message, key, certificate, signature or stanza.
  package static func malformedKey(_ what: String) -> StoreError {
    StoreError(.undecodable(stored: "malformed bytes"), what, cure: "give it as OpenSSH or age writes it")
  }
}
