internal import Coffer
internal import CofferMemory
internal import CofferTerminal

/// Base32 back to bytes, within guarded memory, as web sites print a one-time password's secret: in groups with blanks or hyphens
/// between them, in either case, with padding or without.
///
/// Source: RFC 4648, section 6.
enum SecretBase32 {
  /// The bytes that `text` spells; nil when it is no Base32, or none at all. A count of digits that no number of bytes has is
  /// refused: one was lost on the way. Bits beyond the last byte are left out.
  static func decode(_ text: UnsafeRawBufferPointer) throws -> SecretBytes? {
    var digits = 0
    var padding = 0
    for byte in text where !isSeparator(byte) {
      if byte == UInt8(ascii: "=") {
        padding += 1
      } else {
        guard padding == 0, value(byte) != nil else { return nil }
        digits += 1
      }
    }
    guard digits > 0, ![1, 3, 6].contains(digits % 8), padding == 0 || (digits + padding) % 8 == 0, padding < 8 else {
      return nil
    }
    var bytes = try SecretBytes(zeros: digits * 5 / 8)
    bytes.withUnsafeMutableBytes { write(text, to: $0) }
    return bytes
  }

  /// Hands the digits of `text` to `put`, in upper case and without separators.
  static func normalize(_ text: UnsafeRawBufferPointer, _ put: (UInt8) -> Void) {
    for byte in text where value(byte) != nil { put(byte >= UInt8(ascii: "a") ? byte & ~0x20 : byte) }
  }

  private static func write(_ text: UnsafeRawBufferPointer, to out: UnsafeMutableRawBufferPointer) {
    var (bits, held, at): (UInt32, Int, Int) = (0, 0, 0)
    for byte in text {
      guard let value = value(byte) else { continue }
      bits = bits << 5 | value
      held += 5
      guard held >= 8 else { continue }
      held -= 8
      out[at] = UInt8(truncatingIfNeeded: bits >> UInt32(held))
      at += 1
    }
  }

  private static func isSeparator(_ byte: UInt8) -> Bool { byte <= 0x20 || byte == UInt8(ascii: "-") }

  private static func value(_ digit: UInt8) -> UInt32? {
    switch digit {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(digit - UInt8(ascii: "A"))
    case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(digit - UInt8(ascii: "a"))
    case UInt8(ascii: "2")...UInt8(ascii: "7"): UInt32(digit - UInt8(ascii: "2")) + 26
    default: nil
    }
  }
}
