/// 16 random bytes that identify a vault for life.
public struct VaultID: Sendable, Hashable, CustomStringConvertible {
  /// The 16 bytes.
  public let bytes: [UInt8]
  package init(bytes: [UInt8]) { self.bytes = bytes }
  /// 32 lowercase hexadecimal digits.
  public var description: String {
    bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
  }
}

extension VaultID {
  /// Reads 32 hexadecimal digits; nil for anything else.
  public init?(_ text: String) {
    let digits = text.utf8.compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
    guard digits.count == 32, text.utf8.count == 32 else { return nil }
    self.init(bytes: stride(from: 0, to: 32, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) })
  }
}
