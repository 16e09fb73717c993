internal import FoundationEssentials

/// A point in time, as text.
enum Moment {
  /// `2026-11-21T08:00:00Z`
  static func text(_ date: Date) -> String { date.formatted(.iso8601) }

  /// Reads what ``text(_:)`` writes, other offsets, and a bare day, which begins at midnight UTC.
  static func parse(_ text: String) -> Date? {
    do { return try Date(text, strategy: .iso8601) } catch {}
    do { return try Date(text, strategy: .iso8601.year().month().day()) } catch { return nil }
  }
}
