internal import CCofferSodium
public import CofferMemory
public import CofferStorage

/// A key file: one that was generated here, or any other file of some length.
///
/// A generated file reads `PVKEY1-`, 64 lowercase hexadecimal digits, and eight more of the key's digest, which tell a mistyped or
/// cut copy. Any other file stands for the digest of its content, and counts only beside a passphrase: a photo is a guessable key.
public struct KeyFile: ~Copyable, Sendable {
  /// Below 32 bytes a file can hardly hold a key.
  static let smallest = 32
  /// A key is not a film: larger files are a mistake, and would be held in guarded memory.
  static let largest = 1024 * 1024
  private static let mark: StaticString = "PVKEY1-"
  private static let markBytes = 7
  private static let textBytes = 7 + 64 + 8

  /// KF of the format.
  let key: SecretBytes
  /// Whether it opens a slot without a passphrase.
  let isGenerated: Bool

  /// Reads a file's content.
  ///
  /// - Throws: `.damaged` for a file that begins like a generated one and is none, `.refused` below ``smallest``, `.tooLarge`.
  init(content: borrowing SecretBytes) throws(StoreError) {
    let isGenerated = content.withUnsafeBytes { $0.starts(with: Self.markText) }
    let key = try content.withUnsafeBytes { (content) throws(StoreError) in
      isGenerated ? try Self.generatedKey(content) : try Self.digest(content)
    }
    self.key = key
    self.isGenerated = isGenerated
  }

  private static var markText: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: mark.utf8Start, count: markBytes)
  }

  /// The content of a new key file, line feed included: 80 bytes, to be written with mode 0600.
  ///
  /// - Throws: ``StoreError`` `.io` when guarded memory runs out.
  public static func generate() throws(StoreError) -> SecretBytes {
    do throws(FormatError) {
      let key = try SecretBytes.fresh(32)
      return try key.withUnsafeBytes { (key) throws(FormatError) in try text(of: key) }
    } catch {
      throw error.storeError()
    }
  }

  private static func text(of key: UnsafeRawBufferPointer) throws(FormatError) -> SecretBytes {
    let check = try PlainHash.secretDigest(key)
    return try ByteWriter.secret(textBytes + 1) { out in
      out.write(mark)
      for byte in key { out.write(hex: byte) }
      check.withUnsafeBytes { for byte in $0.prefix(4) { out.write(hex: byte) } }
      out.write(UInt8(ascii: "\n"))
    }
  }

  private static func digest(_ content: UnsafeRawBufferPointer) throws(StoreError) -> SecretBytes {
    guard content.count <= largest else {
      throw StoreError(.tooLarge(limit: largest), "a key file of \(content.count) bytes", cure: "use a smaller file")
    }
    guard content.count >= smallest else {
      throw StoreError(
        .refused, "a key file of \(content.count) bytes", cure: "use a file of at least \(smallest) bytes, or generate one")
    }
    do { return try PlainHash.secretDigest(content) } catch { throw error.storeError() }
  }

  /// Decodes the digits in place, and finds the key by writing it out again: only the one spelling is a key file.
  private static func generatedKey(_ content: UnsafeRawBufferPointer) throws(StoreError) -> SecretBytes {
    let length = content.last == UInt8(ascii: "\n") ? content.count - 1 : content.count
    do throws(FormatError) {
      guard length == textBytes else { throw FormatError.damaged("key file", "it has \(content.count) bytes") }
      let key = try SecretBytes(count: 32, memory: FormatError.memory) { (out) throws(FormatError) in
        for place in 0..<32 {
          let at = markBytes + 2 * place
          out[place] = Hex.value(content[at]) << 4 | Hex.value(content[at + 1])
        }
      }
      let spelling = try key.withUnsafeBytes { (key) throws(FormatError) in try text(of: key) }
      let isSame = spelling.withUnsafeBytes { sodium_memcmp($0.u8, content.u8, textBytes) == 0 }
      guard isSame else { throw FormatError.damaged("key file", "its check digits do not fit") }
      return key
    } catch FormatError.memory(let error) {
      throw FormatError.memory(error).storeError()
    } catch {
      throw StoreError(.damaged, "the key file was changed or cut", cure: "use another copy of the key file")
    }
  }
}

extension ByteWriter {
  fileprivate mutating func write(hex byte: UInt8) {
    write(Hex.digit(byte >> 4))
    write(Hex.digit(byte & 15))
  }
}
