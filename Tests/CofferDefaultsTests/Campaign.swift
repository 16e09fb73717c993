import Foundation

/// How far the fault campaigns go: a short way in every run, all the way where `COFFER_LONG_TESTS` is set.
enum Campaign {
  static let isLong = ProcessInfo.processInfo.environment["COFFER_LONG_TESTS"] != nil
  /// Where a campaign with random parts begins; the same in each run, so that a failure can be had again.
  static let seed = ProcessInfo.processInfo.environment["COFFER_TEST_SEED"] ?? "20260301"

  static func count(_ short: Int, long: Int) -> Int { isLong ? long : short }
}
