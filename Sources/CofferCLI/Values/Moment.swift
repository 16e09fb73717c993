internal import FoundationEssentials

/// A point in time, as text.
enum Moment {
  /// `2026-11-21T08:00:00Z`
  static func text(_ date: Date) -> String { date.formatted(.iso8601) }

  /// `2026-11-21 08:00:00 +0000`, as macOS prints a date.
  static func classic(_ date: Date) -> String {
    text(date).replacing("T", with: " ").replacing("Z", with: " +0000")
  }

  /// Reads what ``text(_:)`` and ``classic(_:)`` write, other offsets, and a bare day, which begins at midnight UTC.
  static func parse(_ text: String) -> Date? {
    let parts = text.split(separator: " ")
    if parts.count == 3 { return parse("\(parts[0])T\(parts[1])\(parts[2])") }
    do { return try Date(text, strategy: .iso8601) } catch {}
    do { return try Date(text, strategy: .iso8601.year().month().day()) } catch { return nil }
  }
}
