internal import CCofferTestSupport
internal import Foundation
internal import Synchronization
public import Testing

/// Selects the tests of a run, by `COFFER_TESTS`. Tests without a ``TierRun`` are in each. Without the variable a run with
/// `--filter` takes all of its tests.
enum Tier: String, CaseIterable {
  /// No test with a tier.
  case fast
  /// Those of ``Testing/Trait/defaultRun``.
  case standard = "default"
  /// Those of ``Testing/Trait/wholeRun``.
  case whole
  case all
  /// Those of both with the tag `root`.
  case root

  static let current: Tier = {
    guard let name = ProcessInfo.processInfo.environment["COFFER_TESTS"] else {
      return CommandLine.arguments.contains("--filter") ? .all : .standard
    }
    guard let tier = Tier(rawValue: name) else {
      preconditionFailure("COFFER_TESTS is one of \(Tier.allCases.map(\.rawValue)), and not \"\(name)\"")
    }
    return tier
  }()
}

/// Puts a test in a tier above the fast one, which reports it as skipped if left out. A test's trait overrides its suite's.
///
/// Such tests wait for programs and files, and run on threads that may block (see ``BlockingExecutor``).
public struct TierRun: TestTrait, SuiteTrait, TestScoping {
  let tier: Tier

  /// Whether the suite's trait has already begun the test.
  @TaskLocal private static var isInside = false
  private static let running = Atomic(0)
  private static let width = ProcessInfo.processInfo.environment[COFFER_TEST_WIDTH].flatMap(Int.init) ?? 0

  /// For each test of a suite.
  public var isRecursive: Bool { true }

  /// Skips the test if the run leaves it out.
  public func prepare(for test: Test) async throws {
    guard !test.isSuite, let own = test.traits.last(where: { $0 is Self }) as? Self else { return }
    let isTaken =
      switch Tier.current {
      case .all: true
      case .root: test.tags.contains(.root)
      default: Tier.current == own.tier
      }
    try await ConditionTrait.enabled(if: isTaken, "COFFER_TESTS=\(Tier.current.rawValue) leaves it out").prepare(for: test)
  }

  /// Runs the test on a thread that may block.
  public func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    guard testCase != nil, !Self.isInside else { return try await function() }
    let running = Self.running.add(1, ordering: .relaxed).newValue
    defer { Self.running.subtract(1, ordering: .relaxed) }
    #expect(running <= Self.width, "COFFER_TEST_WIDTH bounds how many tests run at once")
    try await Self.$isInside.withValue(true) {
      try await withTaskExecutorPreference(BlockingExecutor.shared) { try await function() }
    }
  }
}

extension Trait where Self == TierRun {
  /// Not in a fast run: it starts programs, and may wait.
  public static var defaultRun: Self { TierRun(tier: .standard) }
  /// Only in the whole run: it tries many cases.
  public static var wholeRun: Self { TierRun(tier: .whole) }
}
