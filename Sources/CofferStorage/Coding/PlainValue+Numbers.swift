/// A plain value with its own form, which ``FormEncoder`` and ``FormDecoder`` use at any depth instead of `Codable`.
protocol NativePlainValue: PlainValue {}

extension Bool: NativePlainValue {
  /// A boolean, an integer 0 or 1, or the text `YES`, `NO`, `true`, `false`, `1` or `0` of an override in any case.
  @inlinable
  public init?(plainForm: PlainForm) {
    switch plainForm {
    case .bool(let value): self = value
    case .integer(0): self = false
    case .integer(1): self = true
    case .argument(let text):
      switch text.lowercased() {
      case "yes", "true", "1": self = true
      case "no", "false", "0": self = false
      default: return nil
      }
    default: return nil
    }
  }

  /// A boolean.
  @inlinable
  public func plainForm() -> PlainForm { .bool(self) }
}

extension FixedWidthInteger {
  /// An exact number, a boolean as 0 or 1, or the decimal text of an override.
  @inlinable
  init?(exactPlainForm form: PlainForm) {
    switch form {
    case .integer(let value): self.init(exactly: value)
    case .unsigned(let value): self.init(exactly: value)
    case .real(let value): self.init(exactly: value)
    case .bool(let value): self = value ? 1 : 0
    case .argument(let text): self.init(text)
    default: return nil
    }
  }
}

extension BinaryFloatingPoint where Self: LosslessStringConvertible {
  /// A real, an exact integer, or the text of an override.
  @inlinable
  init?(nearestPlainForm form: PlainForm) {
    switch form {
    case .real(let value):
      self.init(value)
      if isInfinite && value.isFinite { return nil }
    case .integer(let value): self.init(exactly: value)
    case .unsigned(let value): self.init(exactly: value)
    case .argument(let text):
      self.init(text)
      // Refuse a number that is too large. Infinity is `inf`.
      if isInfinite, text.utf8.contains(where: { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) { return nil }
    default: return nil
    }
  }
}

extension PlainValue where Self: FixedWidthInteger & Codable {
  /// An exact number, or the decimal text of an override.
  @inlinable
  public init?(plainForm: PlainForm) { self.init(exactPlainForm: plainForm) }

  /// An integer, unsigned only above `Int64.max`.
  @inlinable
  public func plainForm() -> PlainForm { Int64(exactly: self).map(PlainForm.integer) ?? .unsigned(UInt64(self)) }
}

extension Int: NativePlainValue {}
extension Int8: NativePlainValue {}
extension Int16: NativePlainValue {}
extension Int32: NativePlainValue {}
extension Int64: NativePlainValue {}
extension UInt: NativePlainValue {}
extension UInt8: NativePlainValue {}
extension UInt16: NativePlainValue {}
extension UInt32: NativePlainValue {}
extension UInt64: NativePlainValue {}

extension Double: NativePlainValue {
  /// A real, an integer held exactly, or the text of an override.
  @inlinable
  public init?(plainForm: PlainForm) { self.init(nearestPlainForm: plainForm) }
  /// A real.
  @inlinable
  public func plainForm() -> PlainForm { .real(self) }
}

extension Float: NativePlainValue {
  /// A real rounded to the nearest `Float`, an integer held exactly, or the text of an override. The decimal text of a list
  /// written by hand is seldom an exact `Float`.
  @inlinable
  public init?(plainForm: PlainForm) { self.init(nearestPlainForm: plainForm) }
  /// A real.
  @inlinable
  public func plainForm() -> PlainForm { .real(Double(self)) }
}
