internal import Dispatch
internal import Foundation
internal import Testing

/// How far campaigns go: each has a short form, which every whole run takes, and a long one under `COFFER_LONG_TESTS=1`.
///
public enum Campaign {
  private static let environment = ProcessInfo.processInfo.environment

  /// Whether `COFFER_LONG_TESTS` is set.
  public static let isLong = environment["COFFER_LONG_TESTS"] != nil
  /// Of how many cases the long form takes one: with `COFFER_LONG_TESTS=8` one of eight, spread over the whole.
  public static let share = max(1, environment["COFFER_LONG_TESTS"].flatMap(Int.init) ?? 1)
  /// Where a campaign with random parts in another process begins: `COFFER_TEST_SEED`, and else the same in each run.
  public static let seed = environment["COFFER_TEST_SEED"] ?? "20260301"

  /// The choice of sizes.
  public static func size(short: Int, long: Int) -> Int { isLong ? long : short }

  /// Every `step`th of `count` cases, so that the short form takes some `short` of them; the long form takes all, or its share.
  public static func cases(_ count: Int, short: Int) -> StrideTo<Int> {
    stride(from: 0, to: count, by: isLong ? share : max(1, count / max(1, short)))
  }

  /// Runs `body` for the numbers below `workers` at once, each on a thread of its own; what it throws is recorded as an issue.
  public static func concurrently(_ workers: Int, _ body: @escaping @Sendable (Int) throws -> Void) {
    let group = DispatchGroup()
    for worker in 0..<workers {
      group.enter()
      Thread.detachNewThread {
        defer { group.leave() }
        do { try body(worker) } catch { Issue.record(error) }
      }
    }
    group.wait()
  }
}
