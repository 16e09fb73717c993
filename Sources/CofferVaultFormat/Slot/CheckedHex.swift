internal import CCofferSodium
internal import CofferMemory

/// 32 bytes as text: a mark, 64 lowercase hexadecimal digits, and eight more of the bytes' digest, which reveal a mistyped or
/// truncated copy.
struct CheckedHex: Sendable {
  let mark: StaticString
  /// The kind of text, for messages.
  let name: String

  private var markText: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: mark.utf8Start, count: mark.utf8CodeUnitCount)
  }
  private var length: Int { mark.utf8CodeUnitCount + 64 + 8 }

  func begins(_ content: UnsafeRawBufferPointer) -> Bool { content.starts(with: markText) }

  func encoded(_ key: UnsafeRawBufferPointer, lineFeed: Bool) throws(FormatError) -> SecretBytes {
    let check = try PlainHash.secretDigest(key)
    return try ByteWriter.secret(length + (lineFeed ? 1 : 0)) { out in
      out.write(mark)
      for byte in key { out.write(hex: byte) }
      check.withUnsafeBytes { for byte in $0.prefix(4) { out.write(hex: byte) } }
      if lineFeed { out.write(UInt8(ascii: "\n")) }
    }
  }

  /// The 32 bytes, with or without a line feed after the text. Decodes the digits in place, and checks by encoding again:
  /// only one spelling is valid.
  func decoded(_ content: borrowing SecretBytes) throws(FormatError) -> SecretBytes {
    try content.withUnsafeBytes { (content) throws(FormatError) in try decoded(content) }
  }

  func decoded(_ content: UnsafeRawBufferPointer) throws(FormatError) -> SecretBytes {
    let count = content.last == UInt8(ascii: "\n") ? content.count - 1 : content.count
    guard count == length else { throw .damaged(name, "it has \(content.count) bytes") }
    let key = try SecretBytes(count: 32, memory: FormatError.memory) { (out) throws(FormatError) in
      for place in 0..<32 {
        let at = mark.utf8CodeUnitCount + 2 * place
        out[place] = Hex.value(content[at]) << 4 | Hex.value(content[at + 1])
      }
    }
    let spelling = try key.withUnsafeBytes { (key) throws(FormatError) in try encoded(key, lineFeed: false) }
    let isSame = spelling.withUnsafeBytes { sodium_memcmp($0.u8, content.u8, length) == 0 }
    guard isSame else { throw .damaged(name, "its check digits do not fit") }
    return key
  }
}

extension ByteWriter {
  fileprivate mutating func write(hex byte: UInt8) {
    write(Hex.digit(byte >> 4))
    write(Hex.digit(byte & 15))
  }
}

extension SecretBytes {
  borrowing func copy() throws(FormatError) -> SecretBytes {
    do { return try duplicate() } catch { throw .memory(error) }
  }
}
