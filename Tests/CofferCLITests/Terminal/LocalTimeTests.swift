import Foundation
import Testing

@testable import CofferCLI
@testable import CofferTerminal

/// Dates in a person's words. In the test runner's time zone, so all distances are from noon.
struct LocalTimeTests {
  private static let noon: Date = {
    var parts = DateComponents()
    (parts.year, parts.month, parts.day, parts.hour) = (2026, 11, 22, 12)
    return Calendar(identifier: .gregorian).date(from: parts) ?? .distantPast
  }()

  @Test(arguments: [
    (0, "just now"), (59, "just now"), (120, "2 min ago"), (3599, "59 min ago"), (3 * 3600, "3 h ago"), (13 * 3600, "yesterday"),
    (86_400, "yesterday"), (3 * 86_400, "3 d ago"), (19 * 86_400, "3 Nov"), (400 * 86_400, "18 Oct 2025"),
    (-3600, "22 Nov, ahead"),
  ])
  func `what is over is told from now on back`(seconds: Int, words: String) {
    #expect(LocalTime(now: Self.noon).ago(Self.noon - Double(seconds)) == words)
  }

  @Test(arguments: [
    (1, "in 1 s"), (90, "in 1 min"), (7200, "in 2 h"), (86_400, "in 1 d"), (13 * 86_400, "in 13 d"), (35 * 86_400, "in 5 weeks"),
    (200 * 86_400, "in 7 months"), (-3 * 86_400, "expired 3 d ago"), (0, "expired just now"),
  ])
  func `what expires is told from now on, and what has expired says so`(seconds: Int, words: String) {
    #expect(LocalTime(now: Self.noon).expiry(Self.noon + Double(seconds)) == words)
  }
}
