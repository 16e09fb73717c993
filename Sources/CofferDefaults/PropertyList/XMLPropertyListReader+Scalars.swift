internal import CofferStorage
internal import FoundationEssentials

extension XMLPropertyListReader {
  private mutating func content() throws(PropertyList.Failure) -> UnsafeRawBufferPointer {
    let start = position
    while position < bytes.count, bytes[position] != UInt8(ascii: "<") { position += 1 }
    guard position < bytes.count else { throw damaged }
    return UnsafeRawBufferPointer(rebasing: bytes[start..<position])
  }

  /// Decimal, or hexadecimal after `0x`; white space before the sign and after it.
  mutating func integer() throws(PropertyList.Failure) -> PlainForm {
    var digits = try content()[...]
    func skipSpace() { digits = digits.drop { $0 <= 0x20 } }
    skipSpace()
    let isNegative = digits.first == UInt8(ascii: "-")
    if isNegative || digits.first == UInt8(ascii: "+") {
      digits.removeFirst()
      skipSpace()
    }
    let isHex = digits.first == UInt8(ascii: "0") && digits.dropFirst().first.map { $0 | 0x20 } == UInt8(ascii: "x")
    if isHex { digits.removeFirst(2) }
    guard let magnitude = magnitude(digits, radix: isHex ? 16 : 10) else { throw damaged }
    guard isNegative else { return Int64(exactly: magnitude).map(PlainForm.integer) ?? .unsigned(magnitude) }
    guard magnitude <= Int64.min.magnitude else { throw damaged }
    return .integer(Int64(truncatingIfNeeded: 0 &- magnitude))
  }

  private func magnitude(_ digits: Slice<UnsafeRawBufferPointer>, radix: UInt64) -> UInt64? {
    guard !digits.isEmpty else { return nil }
    var number: UInt64 = 0
    for digit in digits {
      guard let value = Character(Unicode.Scalar(digit)).hexDigitValue, value < radix else { return nil }
      let (product, isLarge) = number.multipliedReportingOverflow(by: radix)
      let (sum, isLarger) = product.addingReportingOverflow(UInt64(value))
      guard !isLarge, !isLarger else { return nil }
      number = sum
    }
    return number
  }

  private static let notFinite: [String: Double] = [
    "nan": .nan, "inf": .infinity, "+inf": .infinity, "-inf": -.infinity, "infinity": .infinity, "+infinity": .infinity,
    "-infinity": -.infinity,
  ]

  mutating func real() throws(PropertyList.Failure) -> Double {
    let text = try text()
    let digits = text.drop { $0.isWhitespace }
    // Swift would accept hexadecimal numbers, and its own words for infinity and not-a-number.
    let isDecimal = digits.utf8.allSatisfy { (0x30...0x39).contains($0) || "+-.eE".utf8.contains($0) }
    if isDecimal, let number = Double(digits) { return number }
    guard let number = Self.notFinite[text.lowercased()] else { throw damaged }
    return number
  }

  /// `2026-11-21T06:30:00Z`.
  mutating func date() throws(PropertyList.Failure) -> Date {
    var text = try content()[...]
    let isBefore = text.first == UInt8(ascii: "-")
    if isBefore { text.removeFirst() }
    // Later years are in no calendar that people use.
    let year = text.prefix(6).prefix { Self.isDigit($0) }
    text = text.dropFirst(year.count)
    var fields = [Int(Self.number(year)) * (isBefore ? -1 : 1)]
    for (mark, range) in zip("--T::".utf8, [1...12, 0...99, 0...99, 0...99, 0...99]) {
      let digits = text.dropFirst().prefix(2)
      guard text.first == mark, digits.count == 2, digits.allSatisfy(Self.isDigit), range.contains(Self.number(digits)) else {
        throw damaged
      }
      fields.append(Self.number(digits))
      text = text.dropFirst(3)
    }
    guard !year.isEmpty, text.elementsEqual("Z".utf8) else { throw damaged }
    let day = CivilDay.number(year: fields[0], month: fields[1], day: fields[2])
    let seconds = ((day * 24 + fields[3]) * 60 + fields[4]) * 60 + fields[5]
    return Date(timeIntervalSince1970: Double(seconds))
  }

  private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

  private static func number(_ digits: Slice<UnsafeRawBufferPointer>) -> Int {
    digits.reduce(0) { $0 * 10 + Int($1) - 0x30 }
  }

  /// Base64. Foundation skips other characters and drops an incomplete last group.
  mutating func data() throws(PropertyList.Failure) -> Data {
    let text = try content()
    guard text.allSatisfy({ $0 < 0x80 }) else { throw damaged }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count / 4 * 3)
    var group: UInt32 = 0, digits = 0, padding = 0
    for character in text {
      if character == UInt8(ascii: "=") {
        padding += 1
      } else if !Self.isSpace(character) {
        padding = 0
      }
      guard let digit = Self.base64Digit(character) else { continue }
      group = group << 6 | digit
      digits += 1
      guard digits % 4 == 0 else { continue }
      bytes.append(UInt8(truncatingIfNeeded: group >> 16))
      if padding < 2 { bytes.append(UInt8(truncatingIfNeeded: group >> 8)) }
      if padding < 1 { bytes.append(UInt8(truncatingIfNeeded: group)) }
    }
    return Data(bytes)
  }

  private static func base64Digit(_ character: UInt8) -> UInt32? {
    switch character {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(character) - 65
    case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(character) - 71
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(character) + 4
    case UInt8(ascii: "+"): 62
    case UInt8(ascii: "/"): 63
    case UInt8(ascii: "="): 0
    default: nil
    }
  }
}

/// Days of the Gregorian calendar, counted from 1970-01-01. The eras of 400 years begin in March, so that the leap day ends a
/// year.
enum CivilDay {
  private static let daysOfEra = 146_097
  /// Days from the start of 1970's era to 1970-01-01.
  private static let offset = 719_468

  static func date(_ number: Int) -> (year: Int, month: Int, day: Int) {
    let shifted = number + offset
    let era = (shifted >= 0 ? shifted : shifted - (daysOfEra - 1)) / daysOfEra
    let dayOfEra = shifted - era * daysOfEra
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let month = (5 * dayOfYear + 2) / 153
    let isJanuaryOrFebruary = month >= 10
    return (
      yearOfEra + era * 400 + (isJanuaryOrFebruary ? 1 : 0), isJanuaryOrFebruary ? month - 9 : month + 3,
      dayOfYear - (153 * month + 2) / 5 + 1
    )
  }

  /// A day beyond the end of its month counts on into the next.
  static func number(year: Int, month: Int, day: Int) -> Int {
    let year = month <= 2 ? year - 1 : year
    let era = (year >= 0 ? year : year - 399) / 400
    let yearOfEra = year - era * 400
    let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return era * daysOfEra + dayOfEra - offset
  }
}
