internal import CCofferTestSupport
internal import Foundation
internal import Synchronization
public import Testing

/// Which tests a run takes, by `COFFER_TESTS`. Those without a ``TierRun`` are in each. Without the variable a run that names its
/// tests, by `--filter`, takes them all.
enum Tier: String, CaseIterable {
  /// No test that has one.
  case fast
  /// Those of ``Testing/Trait/defaultRun``.
  case standard = "default"
  /// Those of ``Testing/Trait/wholeRun``.
  case whole
  /// Both.
  case all
  /// Of both those with the tag `root`.
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

/// Belongs to the tiers above the fast one, which report it as skipped where they leave it out. The trait of a test goes before
/// that of its suite.
///
/// Such tests wait for programs and files, and run on threads that may (see ``BlockingExecutor``).
public struct TierRun: TestTrait, SuiteTrait, TestScoping {
  let tier: Tier

  /// Whether the trait of the suite has begun the test already.
  @TaskLocal private static var isInside = false
  private static let running = Atomic(0)
  private static let width = ProcessInfo.processInfo.environment[COFFER_TEST_WIDTH].flatMap(Int.init) ?? 0

  /// For each test of a suite.
  public var isRecursive: Bool { true }

  /// Skips the test where the run leaves it out.
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

  /// Runs the test where it may wait.
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
  /// No part of a fast run: it starts programs, and may wait.
  public static var defaultRun: Self { TierRun(tier: .standard) }
  /// Part of the whole run alone: it tries many cases.
  public static var wholeRun: Self { TierRun(tier: .whole) }
}
