/// 16 random bytes that identify a vault for life.
public struct VaultID: Sendable, Hashable, CustomStringConvertible {
  /// The 16 bytes.
  public let bytes: [UInt8]
  package init(bytes: [UInt8]) { self.bytes = bytes }
  /// 32 lowercase hexadecimal digits.
  public var description: String { Hex.text(bytes) }
}

extension VaultID {
  /// Reads 32 hexadecimal digits; nil for anything else.
  public init?(_ text: String) {
    guard let bytes = Hex.bytes(text), bytes.count == 16 else { return nil }
    self.init(bytes: bytes)
  }
}
