/// What tells a number in the journal's header from one of which a bit has flipped, of which a part is older, or that belongs into another
/// field. It is no defence against intent.
///
/// Each field has its own: they change one at a time, while others read them, and a sum over all of them would fit at no moment in between.
enum HeaderCheck {
  /// Odd, so that any two numbers that differ have different products; of 2^64 divided by the golden ratio, whose bits look random.
  private static let factor: UInt64 = 0x9E37_79B9_7F4A_7C15

  /// 64 bits of which the upper ones are the best.
  @inline(__always)
  static func of(_ number: UInt64, _ field: JournalLayout.Field) -> UInt64 {
    let product = (number &+ UInt64(field.rawValue)) &* factor
    return (product ^ product >> 32) &* factor
  }
}

/// A number of a header's field, of up to 32 bits, and its check in the upper half.
struct CheckedNumber {
  /// The field's eight bytes.
  let rawValue: UInt64
  /// The number.
  let number: UInt32

  /// `number` as it stands in `field`.
  init(_ number: UInt32, in field: JournalLayout.Field) {
    self.number = number
    rawValue = (HeaderCheck.of(UInt64(number), field) >> 32) << 32 | UInt64(number)
  }

  /// What stands in `field`; nil where that is no number with its check.
  init?(rawValue: UInt64, in field: JournalLayout.Field) {
    self.init(UInt32(truncatingIfNeeded: rawValue), in: field)
    guard self.rawValue == rawValue else { return nil }
  }
}
