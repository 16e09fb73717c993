internal import FoundationEssentials

/// How long ago something was, for people.
enum Age {
  private static let units: [(seconds: Double, name: String)] = [
    (365 * 86_400, "year"), (30 * 86_400, "month"), (7 * 86_400, "week"), (86_400, "day"), (3600, "hour"), (60, "minute"),
  ]

  /// `3 days ago`, rounded down; `just now` for less than a minute.
  static func text(_ date: Date, now: Date = Date()) -> String {
    let seconds = now.timeIntervalSince(date)
    guard let unit = units.first(where: { seconds >= $0.seconds }) else { return "just now" }
    let count = Int(seconds / unit.seconds)
    return "\(count) \(unit.name)\(count == 1 ? "" : "s") ago"
  }
}
