/// Lowercase hexadecimal, two digits a byte, of public bytes.
enum Hex {
  static func text(_ bytes: some Collection<UInt8>) -> String {
    String(decoding: bytes.lazy.flatMap { [digit($0 >> 4), digit($0 & 15)] }, as: UTF8.self)
  }

  /// The ASCII digit of a value below 16, without a table: a table's cache lines would tell of the digit.
  static func digit(_ value: UInt8) -> UInt8 {
    let letter = (9 &- Int16(value)) >> 15  // all ones for ten and above
    return UInt8(truncatingIfNeeded: 48 &+ Int16(value) &+ (letter & 39))
  }

  /// The value of a lowercase digit; of any other byte, some value below 16. Without branches, as the digits may be a key's.
  static func value(_ digit: UInt8) -> UInt8 {
    let letter = UInt8(truncatingIfNeeded: (57 &- Int16(digit)) >> 15)
    return (digit &- 48 &- (letter & 39)) & 15
  }
}
