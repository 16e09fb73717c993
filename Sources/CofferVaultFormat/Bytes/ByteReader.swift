/// A cursor over the bytes of one part of a vault. Every read checks its bounds; ``end()`` rejects remaining bytes.
package struct ByteReader {
  private let bytes: UnsafeRawBufferPointer
  package private(set) var offset = 0
  private let part: String

  /// The bytes must outlive the reader.
  package init(_ bytes: UnsafeRawBufferPointer, of part: String) {
    self.bytes = bytes
    self.part = part
  }

  package var remaining: Int { bytes.count - offset }

  package func damaged(_ why: String) -> FormatError { .damaged(part, why) }

  package mutating func take(_ count: Int) throws(FormatError) -> UnsafeRawBufferPointer {
    guard count <= remaining else { throw damaged("it ends after \(bytes.count) bytes, in the middle of a field") }
    defer { offset += count }
    return bytes.part(offset..<offset + count)
  }

  package mutating func number<Number: ShortNumber>(_ type: Number.Type = Number.self) throws(FormatError) -> Number {
    Number(littleEndian: try take(MemoryLayout<Number>.size).loadUnaligned(as: Number.self))
  }

  /// A number of eight bytes, at most ``FileCounter/most``.
  package mutating func counter(_ field: String) throws(FormatError) -> UInt64 {
    let count = UInt64(littleEndian: try take(8).loadUnaligned(as: UInt64.self))
    guard count <= FileCounter.most else { throw damaged("its \(field) exceeds its maximum") }
    return count
  }

  /// The same, of at least `least`.
  package mutating func counter(_ field: String, atLeast least: UInt64) throws(FormatError) -> UInt64 {
    let count = try counter(field)
    guard count >= least else { throw damaged("its \(field) is \(count), and \(least) is the first") }
    return count
  }

  package mutating func block16<Role>(_ type: Block16<Role>.Type = Block16<Role>.self) throws(FormatError) -> Block16<Role> {
    guard let block = Block16<Role>(try take(16)) else { throw damaged("a field of 16 bytes is short") }
    return block
  }

  package mutating func block32<Role>(_ type: Block32<Role>.Type = Block32<Role>.self) throws(FormatError) -> Block32<Role> {
    guard let block = Block32<Role>(try take(32)) else { throw damaged("a field of 32 bytes is short") }
    return block
  }

  /// lp(x): four bytes of length and x, of at most `limit` bytes.
  package mutating func prefixed(limit: Int, _ field: String) throws(FormatError) -> UnsafeRawBufferPointer {
    try take(Int(try number(UInt32.self)), limit: limit, field)
  }

  /// ls(x): two bytes of length and x, of at most `limit` bytes.
  mutating func short(limit: Int, _ field: String) throws(FormatError) -> UnsafeRawBufferPointer {
    try take(Int(try number(UInt16.self)), limit: limit, field)
  }

  private mutating func take(_ count: Int, limit: Int, _ field: String) throws(FormatError) -> UnsafeRawBufferPointer {
    guard count <= limit else { throw damaged("its \(field) has \(count) bytes, and at most \(limit) are allowed") }
    return try take(count)
  }

  /// An extension by a later version at the end of a structure, which this version skips.
  ///
  /// - Returns: its length.
  @discardableResult
  mutating func extend(limit: Int = VaultFormat.longestExtension) throws(FormatError) -> Int {
    try short(limit: limit, "extension").count
  }

  /// ls(x), with x as UTF-8.
  package mutating func text(limit: Int, _ field: String) throws(FormatError) -> String {
    let bytes = try short(limit: limit, field).bindMemory(to: UInt8.self)
    // Most labels, media types and fields of items are empty.
    guard !bytes.isEmpty else { return "" }
    // String(validating:as:) gives the same at five times the cost, because it is generic.
    do { return String(copying: try UTF8Span(validating: bytes.span)) } catch { throw damaged("its \(field) is not UTF-8") }
  }

  /// Trailing bytes would be a second encoding of the same content.
  package func end() throws(FormatError) {
    guard remaining == 0 else { throw damaged("\(remaining) bytes follow its end") }
  }
}

extension FormatError {
  package static func reading<Result: ~Copyable>(
    _ bytes: UnsafeRawBufferPointer, of part: String, _ body: (inout ByteReader) throws(FormatError) -> Result
  ) throws(FormatError) -> Result {
    var reader = ByteReader(bytes, of: part)
    let result = try body(&reader)
    try reader.end()
    return result
  }
}
