import CofferTestSupport
import Foundation
import Testing

/// A program's system call, the `number`th of its name: strace(1) can kill the program there, or fail the call.
struct TracedCall: CustomStringConvertible {
  let name: String
  let number: Int

  var description: String { "\(name) \(number)" }
  /// The words before a program that is killed at this call.
  var killer: [String] { tracer("signal=SIGKILL") }
  var failure: [String] { tracer("error=EIO") }

  private func tracer(_ fault: String) -> [String] {
    Self.strace + ["-o", "/dev/null", "-e", "trace=\(name)", "-e", "inject=\(name):\(fault):when=\(number)"]
  }

  fileprivate static let strace = ["/usr/bin/strace", "-f", "-qq"]
}

extension Home {
  static let visible = [
    URL(fileURLWithPath: coffer).deletingLastPathComponent().appendingPathComponent("TestTool").path, "visible",
  ]

  /// Runs `coffer` with the words of `line` under strace(1) with `options`. Skips the test if tracing is impossible; fails
  /// if a requested fault did not happen.
  func traced(
    _ options: [String], _ line: String, in input: String = "", _ location: SourceLocation = #_sourceLocation
  ) throws -> (status: Int32, out: String, err: String) {
    try Tracing.need()
    let words = TracedCall.strace + ["-o", path + "/trace"] + options + Self.visible + [Self.coffer] + Self.words(line)
    let answer = try #require(try program(words, in: input))
    if options.contains(where: { $0.hasPrefix("inject=") }) {
      let happened = try answer.status == 128 + SIGKILL || content("trace").contains(/\((INJECTED|DELAYED)\)/)
      #expect(happened, "nothing was injected: \(options)", sourceLocation: location)
    }
    return answer
  }

  /// The calls `names` of the program `words`, in order. Skips the test if tracing is impossible.
  func calls(_ names: String, of words: [String]) throws -> [TracedCall] {
    try calls(names) { tracer in try program(tracer + words)?.status }
  }

  /// The same for a program that `run` starts, given the words before the program's own.
  func calls(_ names: String, _ run: ([String]) throws -> Int32?) throws -> [TracedCall] {
    let log = path + "/trace"
    defer { unlink(log) }
    guard access(TracedCall.strace[0], X_OK) == 0, try run(TracedCall.strace + ["-o", log, "-e", "trace=\(names)"]) == 0 else {
      try Test.skip("strace cannot trace a process here")
    }
    var (counts, calls) = ([String: Int](), [TracedCall]())
    for line in try content("trace").split(separator: "\n") {
      // PID NAME(ARGUMENTS) = RESULT; other lines are signals and continued calls.
      guard let name = line.split(separator: " ").dropFirst().first?.split(separator: "(").first.map(String.init),
        name.allSatisfy({ $0.isLetter || $0.isNumber || $0 == "_" })
      else { continue }
      counts[name, default: 0] += 1
      calls.append(TracedCall(name: name, number: counts[name, default: 0]))
    }
    return calls
  }
}
