internal import Dispatch
internal import Foundation
internal import Testing

/// The size of campaigns: each has a short form, in every whole run, and a long one under `COFFER_LONG_TESTS=1`.
public enum Campaign {
  private static let environment = ProcessInfo.processInfo.environment

  /// Whether `COFFER_LONG_TESTS` is set.
  public static let isLong = environment["COFFER_LONG_TESTS"] != nil
  /// The long form takes one of so many cases: with `COFFER_LONG_TESTS=8` one of eight, spread over the whole.
  public static let share = max(1, environment["COFFER_LONG_TESTS"].flatMap(Int.init) ?? 1)
  /// The seed of a campaign with random parts in another process: `COFFER_TEST_SEED`, or a constant.
  public static let seed = environment["COFFER_TEST_SEED"] ?? "20260301"

  /// The size for this form.
  public static func size(short: Int, long: Int) -> Int { isLong ? long : short }

  /// Every `step`th of `count` cases: about `short` in the short form, all or its share in the long form.
  public static func cases(_ count: Int, short: Int) -> StrideTo<Int> {
    stride(from: 0, to: count, by: isLong ? share : max(1, count / max(1, short)))
  }

  /// Runs `body` for the numbers below `workers` in parallel, each on its own thread; errors are recorded as issues.
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
