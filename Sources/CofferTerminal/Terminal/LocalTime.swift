internal import CofferPlatform
package import FoundationEssentials

/// Moments in everyday words, in this machine's time zone.
package struct LocalTime {
  package let now: Date

  package init(now: Date = Date()) { self.now = now }

  /// A past moment: `2 min ago`, `yesterday`, `3 Nov`, `3 Nov 2025`.
  package func ago(_ date: Date) -> String {
    let seconds = Int64(now.timeIntervalSince(date).rounded(.down))
    // A clock was set back, or is another machine's.
    if seconds < -60 { return "\(day(date)), ahead" }
    if seconds < 60 { return "just now" }
    if seconds < 3600 { return "\(seconds / 60) min ago" }
    switch days(from: date, to: now) {
    case 0: return "\(seconds / 3600) h ago"
    case 1: return "yesterday"
    case let days where days < 7: return "\(days) d ago"
    default: return day(date)
    }
  }

  /// A future moment: `in 12 min`, `in 5 weeks`, `1 Jan 2030`.
  package func ahead(_ date: Date) -> String {
    let seconds = Int64(date.timeIntervalSince(now).rounded(.up))
    if seconds < 60 { return "in \(max(seconds, 1)) s" }
    if seconds < 3600 { return "in \(seconds / 60) min" }
    if seconds < 86_400 { return "in \(seconds / 3600) h" }
    let days = (seconds + 43_200) / 86_400
    if days < 14 { return "in \(days) d" }
    if days < 63 { return "in \((days + 3) / 7) weeks" }
    if days < 730 { return "in \((days + 15) / 30) months" }
    return day(date)
  }

  /// An expiry: ``ahead(_:)``, or `expired 3 d ago`.
  package func expiry(_ date: Date) -> String { date > now ? ahead(date) : "expired " + ago(date) }

  /// `3 Nov`, with the year if it is not the current one.
  package func day(_ date: Date) -> String {
    let parts = Self.parts(date)
    let day = "\(parts.tm_mday) \(Self.months[Int(parts.tm_mon)])"
    return parts.tm_year == Self.parts(now).tm_year ? day : "\(day) \(parts.tm_year + 1900)"
  }

  /// `3 Nov 20:44`.
  package func minute(_ date: Date) -> String { "\(day(date)) \(clock(date))" }

  /// `20:44`.
  package func clock(_ date: Date) -> String {
    let parts = Self.parts(date)
    let pad = { (number: Int32) in number < 10 ? "0\(number)" : "\(number)" }
    return "\(pad(parts.tm_hour)):\(pad(parts.tm_min))"
  }

  /// `20:44:09`.
  package func second(_ date: Date) -> String {
    let second = Self.parts(date).tm_sec
    return "\(clock(date)):\(second < 10 ? "0" : "")\(second)"
  }

  private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

  private func days(from first: Date, to last: Date) -> Int { Self.number(Self.parts(last)) - Self.number(Self.parts(first)) }

  /// Counted from a fixed day on.
  private static func number(_ parts: tm) -> Int {
    let before = Int(parts.tm_year) + 1899
    return before * 365 + before / 4 - before / 100 + before / 400 + Int(parts.tm_yday)
  }

  private static func parts(_ date: Date) -> tm {
    var parts = tm()
    // Another writer may have stored any number: the C library fails beyond its years, and zero is as good.
    let seconds = date.timeIntervalSince1970
    var moment = abs(seconds) < 1e15 ? time_t(seconds.rounded(.down)) : 0
    localtime_r(&moment, &parts)
    return parts
  }
}
