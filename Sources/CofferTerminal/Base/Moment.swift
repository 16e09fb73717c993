internal import CofferPlatform
internal import CofferStorage
package import FoundationEssentials

package enum Moment {
  /// `2026-11-21T08:00:00Z`
  package static func text(_ date: Date) -> String { date.formatted(.iso8601) }

  /// `2026-11-21`, in UTC.
  package static func day(_ date: Date) -> String { String(text(date).prefix(10)) }

  /// `2026-11-21 08:00:00 +0000`, as macOS prints a date.
  package static func classic(_ date: Date) -> String { text(date).replacing("T", with: " ").replacing("Z", with: " +0000") }

  /// Reads the formats of ``text(_:)`` and ``classic(_:)``, other offsets, a time without seconds or with fractions of one,
  /// a space in place of the `T`, and a bare day, which begins at midnight UTC.
  ///
  /// All of `text` must match: Foundation accepts a valid prefix, and reads the 31st of February as the 3rd of March.
  package static func parse(_ text: String) -> Date? {
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
      // Foundation reads neither PostgreSQL's offsets in hours alone nor a time without seconds.
      let isOfHours = bytes.count > 3 && [UInt8(ascii: "+"), UInt8(ascii: "-")].contains(bytes[bytes.count - 3])
      let minute = String(decoding: bytes[..<(end + Self.minuteLength)], as: UTF8.self)
      let rest = String(decoding: bytes[(end + Self.minuteLength)...], as: UTF8.self)
      return try Date(minute + (rest.hasPrefix(":") ? "" : ":00") + rest + (isOfHours ? ":00" : ""), strategy: .iso8601)
    } catch { return nil }
  }

  /// Bytes of `T18:00`.
  private static let minuteLength = 6

  /// Whether `text` is `T18:00` or `T18:00:00`, the latter with up to nine digits of a fraction, and then `Z`, `+01:00`,
  /// `+0100` or `+01`.
  private static func isTime(_ text: ArraySlice<UInt8>) -> Bool {
    var rest = text
    let isDigit = { (byte: UInt8) in UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte }
    func take(_ mark: Unicode.Scalar?, below limit: Int) -> Bool {
      if let mark { guard rest.popFirst() == UInt8(ascii: mark) else { return false } }
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

  /// `15 minutes`, `2 hours` or `90 seconds`: the largest unit without a rest.
  package static func sentence(_ seconds: Int64) -> String {
    let unit = [(86_400, "day"), (3600, "hour"), (60, "minute")].first { seconds % $0.0 == 0 } ?? (1, "second")
    return counted(Int(seconds / unit.0), unit.1)
  }

  /// `7 h 59 min`, `14 min` or `30 s`: rounded to minutes, so that a time that has just begun is shown whole.
  package static func words(_ seconds: Int64) -> String {
    if seconds < 60 { return "\(seconds) s" }
    let minutes = (seconds + 30) / 60
    if minutes < 60 { return "\(minutes) min" }
    return "\(minutes / 60) h" + (minutes % 60 == 0 ? "" : " \(minutes % 60) min")
  }
}
