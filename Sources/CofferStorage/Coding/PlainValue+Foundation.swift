public import FoundationEssentials

extension String: NativePlainValue {
  /// A string, or the text of an override.
  @inlinable
  public init?(plainForm: PlainForm) {
    switch plainForm {
    case .string(let text), .argument(let text): self = text
    default: return nil
    }
  }

  /// A string.
  @inlinable
  public func plainForm() -> PlainForm { .string(self) }
}

extension Data: NativePlainValue {
  /// Data, or the text of an override: base64 (RFC 4648), or hexadecimal digits in `<` and `>` with optional spaces between
  /// bytes.
  public init?(plainForm: PlainForm) {
    switch plainForm {
    case .data(let data): self = data
    case .argument(let text):
      if text.hasPrefix("<") { self.init(bracketedHex: text) } else { self.init(base64Encoded: text) }
    default: return nil
    }
  }

  /// Data.
  public func plainForm() -> PlainForm { .data(self) }

  private init?(bracketedHex text: String) {
    let digits = text.utf8.dropFirst().dropLast().filter { $0 != UInt8(ascii: " ") }
    guard text.utf8.last == UInt8(ascii: ">"), digits.count.isMultiple(of: 2) else { return nil }
    var bytes: [UInt8] = []
    for start in stride(from: 0, to: digits.count, by: 2) {
      guard let high = Self.nibble(digits[start]), let low = Self.nibble(digits[start + 1]) else { return nil }
      bytes.append(high << 4 | low)
    }
    self.init(bytes)
  }

  private static func nibble(_ digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}

extension Date: NativePlainValue {
  /// A date, or the text of an override in ISO 8601: `2026-03-01`, `2026-03-01T09:30:00Z`, also with a fraction or another
  /// zone.
  public init?(plainForm: PlainForm) {
    switch plainForm {
    case .date(let date): self = date
    case .argument(let text): self.init(iso8601: text)
    default: return nil
    }
  }

  /// A date.
  public func plainForm() -> PlainForm { .date(self) }

  private init?(iso8601 text: String) {
    let day = ISO8601FormatStyle().year().month().day()
    let whole = text.startIndex..<text.endIndex
    guard Self.hasCalendarFields(text, day) else { return nil }
    for style in [ISO8601FormatStyle(includingFractionalSeconds: true), ISO8601FormatStyle(), day] {
      do {
        guard let match = try style.consuming(text, startingAt: text.startIndex, in: whole), match.upperBound == text.endIndex
        else { continue }
        self = match.output
        return
      } catch { continue }
    }
    return nil
  }

  // The parser rolls 31 February and 25 o'clock over into the next month or day: an override must be exact.
  private static func hasCalendarFields(_ text: String, _ day: ISO8601FormatStyle) -> Bool {
    let date = String(text.prefix(10))
    do { guard try day.format(day.parse(date)) == date else { return false } } catch { return false }
    let fields = text.dropFirst(11).prefix(8).split(separator: ":", omittingEmptySubsequences: false).map { Int($0) ?? -1 }
    guard text.count > 10 else { return true }
    return fields.count == 3 && 0..<24 ~= fields[0] && 0..<60 ~= fields[1] && 0...60 ~= fields[2]
  }
}
