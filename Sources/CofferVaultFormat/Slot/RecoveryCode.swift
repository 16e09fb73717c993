public import CofferMemory
public import CofferPlatform

/// A recovery code: 20 random bytes as 32 unambiguous symbols, and two more that reveal a typo.
///
/// Symbols are Crockford's base 32, most significant bit first. The check is the first ten bits of the bytes' digest.
public enum RecoveryCode {
  static let count = 20
  private static let symbols = 34
  private static let dataSymbols = 32
  private static let group = 4
  /// Longer text is no code, however many hyphens it has.
  static let longestText = 256

  // Crockford's alphabet: ten digits, then the letters without I, L, O and U.
  private static let alphabet: StaticString = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

  /// A new code for copying by hand: 34 symbols in hyphenated groups of four, 42 bytes. Shown once and stored nowhere.
  ///
  /// - Throws: `StoreError` `.memory` if guarded memory runs out.
  public static func generate() throws(StoreError) -> SecretBytes {
    let bytes: SecretBytes
    do { bytes = try SecretBytes.fresh(count) } catch { throw error.storeError() }
    return try text(of: bytes)
  }

  static func text(of bytes: borrowing SecretBytes) throws(StoreError) -> SecretBytes {
    precondition(bytes.count == count, "a recovery code stands for \(count) bytes")
    do throws(FormatError) {
      let check = try bytes.withUnsafeBytes { (bytes) throws(FormatError) in try PlainHash.secretDigest(bytes) }
      return try ByteWriter.secret(symbols + (symbols - 1) / group) { out in
        for place in 0..<symbols {
          if place > 0, place % group == 0 { out.write(UInt8(ascii: "-")) }
          let five =
            place < dataSymbols
            ? bytes.withUnsafeBytes { bits($0, place) } : check.withUnsafeBytes { bits($0, place - dataSymbols) }
          out.write(symbol(five))
        }
      }
    } catch {
      throw error.storeError()
    }
  }

  /// Whether `text` is a complete code with a valid check.
  ///
  /// - Throws: `StoreError` `.memory` if guarded memory runs out.
  package static func isCode(_ text: borrowing SecretBytes) throws(StoreError) -> Bool {
    do throws(StoreError) { _ = try bytes(of: text) } catch {
      guard error.kind == .wrongSecret else { throw error }
      return false
    }
    return true
  }

  /// The 20 bytes of a code. Ignores case, spaces and hyphens; reads I and L as 1, O as 0.
  ///
  /// - Throws: `.wrongSecret` for a text that is no code.
  static func bytes(of text: borrowing SecretBytes) throws(StoreError) -> SecretBytes {
    let code: SecretBytes
    do throws(FormatError) {
      code = try text.withUnsafeBytes { (text) throws(FormatError) in try decoded(text) }
    } catch .memory(let error) {
      throw FormatError.memory(error).storeError()
    } catch {
      throw StoreError(
        .wrongSecret, "the recovery code has a wrong or missing symbol",
        cure: "compare it with the printed code, symbol by symbol")
    }
    return code
  }

  private static func decoded(_ text: UnsafeRawBufferPointer) throws(FormatError) -> SecretBytes {
    let failure = FormatError.damaged("recovery code", "a wrong or missing symbol")
    guard text.count <= longestText else { throw failure }
    let values = try SecretBytes(count: symbols, memory: FormatError.memory) { (out) throws(FormatError) in
      var place = 0
      for byte in text where byte != UInt8(ascii: " ") && byte != UInt8(ascii: "-") {
        let value = Self.value(byte)
        guard place < symbols, value < 32 else { throw failure }
        out[place] = value
        place += 1
      }
      guard place == symbols else { throw failure }
    }
    return try values.withUnsafeBytes { (values) throws(FormatError) in
      let code = try SecretBytes(count: count, memory: FormatError.memory) { (out) throws(FormatError) in pack(values, into: out)
      }
      let check = try code.withUnsafeBytes { (code) throws(FormatError) in try PlainHash.secretDigest(code) }
      let isRight = check.withUnsafeBytes { (bits($0, 0) ^ values[dataSymbols]) | (bits($0, 1) ^ values[dataSymbols + 1]) == 0 }
      guard isRight else { throw failure }
      return code
    }
  }

  /// Five bits of `bytes`, the `place`th from the most significant.
  private static func bits(_ bytes: UnsafeRawBufferPointer, _ place: Int) -> UInt8 {
    let at = 5 * place / 8
    let two = UInt16(bytes[at]) << 8 | (at + 1 < bytes.count ? UInt16(bytes[at + 1]) : 0)
    return UInt8(two >> (11 - 5 * place % 8) & 31)
  }

  private static func pack(_ values: UnsafeRawBufferPointer, into out: UnsafeMutableRawBufferPointer) {
    for block in 0..<4 {
      var forty: UInt64 = 0
      for place in 0..<8 { forty = forty << 5 | UInt64(values[8 * block + place]) }
      for place in 0..<5 { out[5 * block + place] = UInt8(truncatingIfNeeded: forty >> (32 - 8 * place)) }
    }
  }

  /// Visits every symbol of the alphabet, so neither time nor cache reveals the value.
  private static func symbol(_ value: UInt8) -> UInt8 {
    var symbol: UInt8 = 0
    for candidate in 0..<UInt8(32) {
      symbol |= alphabet.utf8Start[Int(candidate)] & mask(candidate, value)
    }
    return symbol
  }

  /// The value of a symbol; 32 or more for any other byte.
  private static func value(_ byte: UInt8) -> UInt8 {
    let upper = byte &- (UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte ? 32 : 0)
    var value: UInt8 = 0
    var known: UInt8 = 0
    for candidate in 0..<UInt8(32) {
      let same = mask(alphabet.utf8Start[Int(candidate)], upper)
      value |= candidate & same
      known |= same
    }
    for (alias, meant) in [(UInt8(ascii: "I"), UInt8(1)), (UInt8(ascii: "L"), 1), (UInt8(ascii: "O"), 0)] {
      let same = mask(alias, upper)
      value |= meant & same
      known |= same
    }
    return value | (~known & 32)
  }

  /// All ones if both are equal, else zeros.
  private static func mask(_ left: UInt8, _ right: UInt8) -> UInt8 {
    UInt8(truncatingIfNeeded: (Int16(left ^ right) &- 1) >> 15)
  }
}
