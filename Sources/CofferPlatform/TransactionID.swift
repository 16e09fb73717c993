/// The id of a transaction over both stores: 16 random bytes.
public struct TransactionID: Sendable, Hashable, CustomStringConvertible {
  /// The 16 bytes.
  public let bytes: [UInt8]

  /// A new id from the system's random source.
  public static func random() -> TransactionID {
    var generator = SystemRandomNumberGenerator()
    return TransactionID(unchecked: (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
  }

  /// The id in `bytes`; nil unless there are 16.
  public init?(_ bytes: [UInt8]) {
    guard bytes.count == 16 else { return nil }
    self.bytes = bytes
  }

  static let zero = TransactionID(unchecked: [UInt8](repeating: 0, count: 16))

  private init(unchecked bytes: [UInt8]) { self.bytes = bytes }

  /// 32 lowercase hexadecimal digits.
  public var description: String {
    bytes.map { byte in
      let digits = String(byte, radix: 16)
      return digits.count == 1 ? "0" + digits : digits
    }.joined()
  }
}
