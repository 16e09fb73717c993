import Foundation
internal import Testing

/// Whether strace exists and may trace, so that programs can be killed at a call and calls can fail.
public enum Tracing {
  private static let strace = "/usr/bin/strace"
  private static let possible = Result { try look() }

  /// Skips the test if strace is not installed, or may not trace.
  ///
  /// - Throws: ``InjectsNothing`` if programs are traced but no fault reaches them: a campaign would pass without any.
  public static func need() throws {
    guard FileManager.default.isExecutableFile(atPath: strace) else { try Test.skip(without: "strace") }
    guard try possible.get() else { try Test.skip("strace cannot trace a process here") }
  }

  /// A campaign without faults must not count as a run.
  public struct InjectsNothing: Error, CustomStringConvertible {
    /// The problem with strace.
    public var description: String { "\(strace) traces and injects no fault" }
  }

  private static func look() throws -> Bool {
    guard try end(["/bin/true"]) == 0 else { return false }
    guard try end(["-e", "trace=exit_group", "-e", "inject=exit_group:signal=SIGKILL", "/bin/true"]) == SIGKILL else {
      throw InjectsNothing()
    }
    return true
  }

  /// A traced program's exit status, or the signal that ended it.
  private static func end(_ arguments: [String]) throws -> Int32 {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: strace)
    process.arguments = ["-o", "/dev/null"] + arguments
    try process.run()
    process.waitUntilExit()
    return process.terminationStatus
  }
}
