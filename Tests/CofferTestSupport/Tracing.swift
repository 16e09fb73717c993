import Foundation
internal import Testing

/// Whether strace is there and may trace, so that programs can be killed at a call of theirs and calls be made to fail.
public enum Tracing {
  private static let strace = "/usr/bin/strace"
  private static let possible = Result { try look() }

  /// The test is skipped where strace is not installed, or may not trace.
  ///
  /// - Throws: ``InjectsNothing`` where programs are traced and no fault reaches them: a campaign would see none, and pass.
  public static func need() throws {
    guard FileManager.default.isExecutableFile(atPath: strace) else { try Test.skip(without: "strace") }
    guard try possible.get() else { try Test.skip("strace cannot trace a process here") }
  }

  /// What a run of a campaign must not be taken for.
  public struct InjectsNothing: Error, CustomStringConvertible {
    /// What strace does.
    public var description: String { "\(strace) traces and injects no fault" }
  }

  private static func look() throws -> Bool {
    guard try end(["/bin/true"]) == 0 else { return false }
    guard try end(["-e", "trace=exit_group", "-e", "inject=exit_group:signal=SIGKILL", "/bin/true"]) == SIGKILL else {
      throw InjectsNothing()
    }
    return true
  }

  /// The status with which a traced program ends, or the signal that ended it.
  private static func end(_ arguments: [String]) throws -> Int32 {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: strace)
    process.arguments = ["-o", "/dev/null"] + arguments
    try process.run()
    process.waitUntilExit()
    return process.terminationStatus
  }
}
