import Foundation
public import Testing

extension Test {
  /// Whether whatever tests need is installed, so that its absence is a fault: `.ci/run` says so by `CI=true`.
  public static let hasAllPrograms = ProcessInfo.processInfo.environment["CI"] == "true"

  /// Ends the test that runs, or its case, as one that this machine cannot run. It is told of as cancelled and not as passed; one
  /// all of whose cases were skipped is told of as passed, and the printed line alone says otherwise.
  ///
  /// - Throws: always.
  public static func skip(_ reason: String, sourceLocation: SourceLocation = #_sourceLocation) throws -> Never {
    print("skipped: \(reason)")
    try cancel("\(reason)", sourceLocation: sourceLocation)
  }

  /// Says that a part of a test cannot be run for want of a program, which is a failure where ``hasAllPrograms`` says so.
  public static func skipPart(without program: String, sourceLocation: SourceLocation = #_sourceLocation) {
    if hasAllPrograms { Issue.record("\(program) is not installed", sourceLocation: sourceLocation) }
    print("skipped in part: \(program) is not installed")
  }

  /// Skips the test for a program that is not there, which is a failure where ``hasAllPrograms`` says so.
  ///
  /// - Throws: always.
  public static func skip(without program: String, sourceLocation: SourceLocation = #_sourceLocation) throws -> Never {
    if hasAllPrograms { Issue.record("\(program) is not installed", sourceLocation: sourceLocation) }
    try skip("\(program) is not installed", sourceLocation: sourceLocation)
  }
}
