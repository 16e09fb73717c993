internal import FoundationEssentials

/// `--expires`: a moment, a day, or a time from now.
enum Expiry {
  private static let seconds: [Character: Double] = ["s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800]

  static func parse(_ text: String, now: Date = Date()) throws(Failure) -> Date {
    guard let moment = relative(text, now) ?? Moment.parse(text) else {
      throw .usage("--expires is neither a time from now nor a date", try: "30d, 12h, 2026-12-31 or 2026-12-31T18:00:00Z")
    }
    guard moment > now else { throw .usage("--expires is in the past", try: "a later moment") }
    return moment
  }

  private static func relative(_ text: String, _ now: Date) -> Date? {
    guard let unit = text.last.flatMap({ seconds[$0] }), let count = UInt32(text.dropLast()), count > 0 else { return nil }
    return now.addingTimeInterval(Double(count) * unit)
  }
}
