import Foundation
public import Testing

extension Test {
  /// Whether whatever tests need is installed, so that its absence is a fault: `.ci/run` says so by `CI=true`.
  public static let hasAllPrograms = ProcessInfo.processInfo.environment["CI"] == "true"

  /// Ends the test that runs, or its case, as one that this machine cannot run. It counts as skipped and not as passed.
  ///
  /// - Throws: always.
  public static func skip(_ reason: String, sourceLocation: SourceLocation = #_sourceLocation) throws -> Never {
    print("skipped: \(reason)")
    try cancel("\(reason)", sourceLocation: sourceLocation)
  }

  /// The same for a program that is not there, which is a failure where ``hasAllPrograms`` says so.
  ///
  /// - Throws: always.
  public static func skip(without program: String, sourceLocation: SourceLocation = #_sourceLocation) throws -> Never {
    if hasAllPrograms { Issue.record("\(program) is not installed", sourceLocation: sourceLocation) }
    try skip("\(program) is not installed", sourceLocation: sourceLocation)
  }
}
