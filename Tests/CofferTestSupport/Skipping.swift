import Foundation
public import Testing

extension Test {
  /// Whether all programs for tests must be installed, so that a missing one is a fault: `.ci/run` sets `CI=true`.
  public static let hasAllPrograms = ProcessInfo.processInfo.environment["CI"] == "true"

  /// Ends the running test or case as one that this machine cannot run. It is reported as cancelled, not as passed; a test
  /// with all cases skipped is reported as passed, and only the printed line shows it.
  ///
  /// - Throws: always.
  public static func skip(_ reason: String, sourceLocation: SourceLocation = #_sourceLocation) throws -> Never {
    print("skipped: \(reason)")
    try cancel("\(reason)", sourceLocation: sourceLocation)
  }

  /// Reports that a part of a test lacks a program, which is a failure if ``hasAllPrograms``.
  public static func skipPart(without program: String, sourceLocation: SourceLocation = #_sourceLocation) {
    if hasAllPrograms { Issue.record("\(program) is not installed", sourceLocation: sourceLocation) }
    print("skipped in part: \(program) is not installed")
  }

  /// Skips the test for a missing program, which is a failure if ``hasAllPrograms``.
  ///
  /// - Throws: always.
  public static func skip(without program: String, sourceLocation: SourceLocation = #_sourceLocation) throws -> Never {
    if hasAllPrograms { Issue.record("\(program) is not installed", sourceLocation: sourceLocation) }
    try skip("\(program) is not installed", sourceLocation: sourceLocation)
  }
}
