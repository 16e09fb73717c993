internal import CofferMemory

/// Decodes Base32 within guarded memory, as web sites print the secret of one-time passwords: in groups between blanks or
/// hyphens, in either case, with or without padding.
///
/// Source: RFC 4648, section 6.
enum SecretBase32 {
  /// The decoded bytes; nil if `text` is empty or no Base32. An impossible count of digits is refused: one was lost. Bits
  /// beyond the last byte are dropped.
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
    return try SecretBytes.written { write(text, $0) }
  }

  /// In upper case, without separators.
  static func normalize(_ text: UnsafeRawBufferPointer, _ put: (UInt8) -> Void) {
    for byte in text where value(byte) != nil { put(byte >= UInt8(ascii: "a") ? byte & ~0x20 : byte) }
  }

  private static func write(_ text: UnsafeRawBufferPointer, _ put: (UInt8) -> Void) {
    var (bits, held): (UInt32, Int) = (0, 0)
    for byte in text {
      guard let value = value(byte) else { continue }
      bits = bits << 5 | value
      held += 5
      guard held >= 8 else { continue }
      held -= 8
      put(UInt8(truncatingIfNeeded: bits >> UInt32(held)))
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
