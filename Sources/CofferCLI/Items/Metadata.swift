internal import CofferStorage
internal import FoundationEssentials

/// `name=value` pairs.
enum Attributes {
  static func parse(_ pairs: [String]) throws -> [String: String] {
    var attributes: [String: String] = [:]
    for pair in pairs {
      guard let (name, value) = split(pair) else {
        throw Failure.usage("an attribute is not name=value", try: "--attribute env=production")
      }
      try checkFree(name)
      guard attributes.updateValue(value, forKey: name) == nil else {
        throw Failure.usage("the attribute '\(name)' was given twice", try: "one value for each name")
      }
    }
    return attributes
  }

  /// Adds `new` to `attributes`, in the place of those of the same names.
  static func merge(_ new: [String: String], into attributes: inout [String: String]) {
    for (name, value) in new {
      // As it is spelled now: the dictionary would leave the name that it has in another spelling of Unicode.
      attributes[name] = nil
      attributes[name] = value
    }
  }

  /// Refuses a name that belongs to the library.
  static func checkFree(_ name: String) throws(Failure) {
    guard ItemMetadata.isOwn(attribute: name) else { return }
    throw .usage("the attributes '\(Printable.line(name))' are reserved", try: "another name")
  }

  static func split(_ pair: String) -> (name: String, value: String)? {
    // Not among characters: a combining mark after the sign makes one character of both.
    let scalars = pair.unicodeScalars
    guard let equals = scalars.firstIndex(of: "="), equals != scalars.startIndex else { return nil }
    return (String(scalars[..<equals]), String(scalars[scalars.index(after: equals)...]))
  }
}

/// `--type`: what programs go by that show a value.
enum MediaType {
  /// - Throws: a usage failure for what is no media type; an empty one says nothing of the value. Source: RFC 6838, section 4.2.
  static func check(_ type: String) throws(Failure) {
    let essence = type.prefix { $0 != ";" }
    let parts = essence.split(separator: "/", omittingEmptySubsequences: false)
    let signs = "()<>@,;:\\\"[]?=".utf8
    let isSound =
      parts.count == 2
      && parts.allSatisfy { part in
        1...127 ~= part.utf8.count && part.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !signs.contains($0) }
      }
    guard type.isEmpty || isSound else {
      throw .usage("'\(Printable.line(type))' is no media type", try: "--type text/plain, application/json or the like")
    }
  }
}

/// `--expires`: a moment, a day, a time from now, never, or what it was.
enum Expiry: Equatable {
  case at(Date), never, keep

  /// When; nil where that is never, or what it was.
  var date: Date? { if case .at(let date) = self { date } else { nil } }

  init(_ text: String) throws(Failure) {
    switch text {
    case "never": self = .never
    case "keep": self = .keep
    default: self = .at(try Self.parse(text))
    }
  }

  private static let seconds: [Character: Double] = ["s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800]

  static func parse(_ text: String, now: Date = Date()) throws(Failure) -> Date {
    guard let moment = relative(text, now) ?? Moment.parse(text) else {
      throw .usage(
        "--expires is neither a time from now nor a date", try: "30d, 12h, 2026-12-31, 2026-12-31T18:00:00Z, never or keep")
    }
    guard moment > now else { throw .usage("--expires is in the past", try: "a later moment") }
    return moment
  }

  private static func relative(_ text: String, _ now: Date) -> Date? {
    guard let unit = text.last.flatMap({ seconds[$0] }), let count = UInt32(text.dropLast()), count > 0 else { return nil }
    return now.addingTimeInterval(Double(count) * unit)
  }
}

/// A point in time, as text.
enum Moment {
  /// `2026-11-21T08:00:00Z`
  static func text(_ date: Date) -> String { date.formatted(.iso8601) }

  /// `2026-11-21`, in UTC.
  static func day(_ date: Date) -> String { String(text(date).prefix(10)) }

  /// `2026-11-21 08:00:00 +0000`, as macOS prints a date.
  static func classic(_ date: Date) -> String {
    text(date).replacing("T", with: " ").replacing("Z", with: " +0000")
  }

  /// Reads what ``text(_:)`` and ``classic(_:)`` write, other offsets, a time without seconds or with parts of one, a blank in
  /// place of the `T`, and a bare day, which begins at midnight UTC.
  ///
  /// All of `text` has to be that: Foundation takes a beginning for the whole, and the 31st of February for the 3rd of March.
  static func parse(_ text: String) -> Date? {
    let parts = text.split(separator: " ")
    if 2...3 ~= parts.count { return parse("\(parts[0])T\(parts[1...].joined())") }
    let bytes = Array(text.utf8)
    let end = bytes.firstIndex(of: UInt8(ascii: "T")) ?? bytes.endIndex
    let day = String(decoding: bytes[..<end], as: UTF8.self)
    do {
      let midnight = try Date(day, strategy: .iso8601.year().month().day())
      guard Self.text(midnight).hasSameBytes(as: "\(day)T00:00:00Z") else { return nil }
      guard end < bytes.endIndex else { return midnight }
      guard isTime(bytes[end...]) else { return nil }
      // Foundation reads no offset of hours alone, which PostgreSQL writes, and no time without seconds.
      let isOfHours = bytes.count > 3 && [UInt8(ascii: "+"), UInt8(ascii: "-")].contains(bytes[bytes.count - 3])
      let minute = String(decoding: bytes[..<(end + Self.minuteLength)], as: UTF8.self)
      let rest = String(decoding: bytes[(end + Self.minuteLength)...], as: UTF8.self)
      return try Date(minute + (rest.hasPrefix(":") ? "" : ":00") + rest + (isOfHours ? ":00" : ""), strategy: .iso8601)
    } catch { return nil }
  }

  /// Bytes of `T18:00`.
  private static let minuteLength = 6

  /// Whether `text` is `T18:00` or `T18:00:00`, the latter with at most nine digits of a part of a second behind it, and then
  /// `Z`, `+01:00`, `+0100` or `+01`.
  private static func isTime(_ text: ArraySlice<UInt8>) -> Bool {
    var rest = text
    let isDigit = { (byte: UInt8) in UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte }
    func take(_ mark: Unicode.Scalar?, below limit: Int) -> Bool {
      if let mark {
        guard rest.popFirst() == UInt8(ascii: mark) else { return false }
      }
      let digits = rest.prefix(2)
      rest = rest.dropFirst(2)
      return digits.count == 2 && digits.allSatisfy(isDigit) && digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) } < limit
    }
    guard take("T", below: 24), take(":", below: 60) else { return false }
    if rest.first == UInt8(ascii: ":") {
      guard take(":", below: 60) else { return false }
      if rest.first == UInt8(ascii: ".") {
        let fraction = rest.dropFirst().prefix(while: isDigit)
        guard 1...9 ~= fraction.count else { return false }
        rest = rest[fraction.endIndex...]
      }
    }
    let zone = rest.popFirst()
    guard zone != UInt8(ascii: "Z"), zone != UInt8(ascii: "z") else { return rest.isEmpty }
    guard zone == UInt8(ascii: "+") || zone == UInt8(ascii: "-") else { return false }
    guard take(nil, below: 24) else { return false }
    return rest.isEmpty || take(rest.first == UInt8(ascii: ":") ? ":" : nil, below: 60) && rest.isEmpty
  }
}
