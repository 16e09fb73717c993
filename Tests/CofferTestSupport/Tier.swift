internal import Foundation
public import Testing

/// Which tests a run takes: `COFFER_TESTS=fast` leaves out what is ``Testing/Trait/wholeRun``; without the variable all are run.
enum Tier: String {
  case fast
  case all

  static let current: Tier = {
    guard let name = ProcessInfo.processInfo.environment["COFFER_TESTS"] else { return .all }
    guard let tier = Tier(rawValue: name) else {
      preconditionFailure("COFFER_TESTS is \"fast\" or \"all\", and not \"\(name)\"")
    }
    return tier
  }()
}

/// Belongs to the whole run alone: a fast one, with `COFFER_TESTS=fast`, reports it as skipped.
///
/// Such tests wait for programs and files, and run on threads that may (see ``BlockingExecutor``). They begin once the others are mostly
/// over: Swift Testing begins all tests at once, and for a minute each task of Swift's pool would stand in one line with a thousand of them,
/// also one whose time is limited.
public struct WholeRun: TestTrait, SuiteTrait, TestScoping {
  private let condition = ConditionTrait.enabled(
    if: Tier.current == .all, "it starts programs or tries many cases; COFFER_TESTS=fast leaves it out")

  /// For each test of a suite.
  public var isRecursive: Bool { true }
  /// Some more than there are threads: a few of them sleep without one.
  private static let turns = Turns(BlockingExecutor.threads + 4)

  /// Skips the test in a fast run.
  public func prepare(for test: Test) async throws { try await condition.prepare(for: test) }

  /// Waits until a new task of Swift's pool begins at once; however busy the machine, two minutes are enough.
  private static func waitForCalm() async {
    let start = ContinuousClock.now
    var asked: ContinuousClock.Instant
    repeat {
      asked = .now
      await Task.detached {}.value
    } while asked.duration(to: .now) > .milliseconds(100) && start.duration(to: .now) < .seconds(120)
  }

  /// Runs the test where it may wait.
  public func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    guard testCase != nil else { return try await function() }
    await Self.turns.take()
    defer { Self.turns.giveBack() }
    await Self.waitForCalm()
    try await withTaskExecutorPreference(BlockingExecutor.shared) { try await function() }
  }
}

extension Trait where Self == WholeRun {
  /// Belongs to the whole run alone, and may wait.
  public static var wholeRun: Self { WholeRun() }
}
