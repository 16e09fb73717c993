internal import CofferPlatform
public import FoundationEssentials

extension UUID: NativePlainValue {
  /// The 36 characters of a UUID (RFC 9562), in letters of either case, also as the text of an override.
  public init?(plainForm: PlainForm) {
    switch plainForm {
    case .string(let text), .argument(let text): self.init(uuidString: text)
    default: return nil
    }
  }

  /// A string in capital letters.
  public func plainForm() -> PlainForm { .string(uuidString) }
}

extension Decimal: NativePlainValue {
  /// The text of a decimal number, `-12.50` or `1e-3`, also of an override; an integer; or a real, as its shortest decimal.
  public init?(plainForm: PlainForm) {
    switch plainForm {
    case .string(let text), .argument(let text): self.init(wholeText: text)
    case .integer(let value): self.init(value)
    case .unsigned(let value): self.init(value)
    case .real(let value): self.init(wholeText: "\(value)")
    default: return nil
    }
  }

  /// A string, which keeps every digit: a real would round.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/unencodable`` for NaN.
  public func plainForm() throws -> PlainForm {
    guard isFinite else {
      throw StoreError(.unencodable, "the Decimal is not a number", cure: "store a number; the stored value is unchanged")
    }
    return .string(description)
  }

  /// Foundation's own parser accepts a prefix: `1.5 EUR` would be 1.5.
  private init?(wholeText text: String) {
    guard text.contains(where: \.isNumber), text.wholeMatch(of: /[+-]?[0-9]*\.?[0-9]*([eE][+-]?[0-9]+)?/) != nil else {
      return nil
    }
    self.init(string: text)
  }
}
