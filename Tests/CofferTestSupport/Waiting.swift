internal import Foundation
public import Testing

/// Waits until `condition` holds, checking every millisecond.
///
/// - Returns: whether it held in time. Two minutes, enough on any busy machine, end the wait with an issue.
@discardableResult
public func eventually(
  _ what: Comment? = nil, at location: SourceLocation = #_sourceLocation, _ condition: () throws -> Bool
) rethrows -> Bool {
  let deadline = ContinuousClock.now + .seconds(120)
  while try !condition() {
    guard ContinuousClock.now < deadline else {
      Issue.record(what ?? "it never came to be", sourceLocation: location)
      return false
    }
    usleep(1_000)
  }
  return true
}

/// Waits in a task until `condition` holds: for two minutes and 2000 checks, as other tests may hold all task threads.
///
/// Records an issue `what` if it never holds.
public func poll(
  _ what: Comment, at location: SourceLocation = #_sourceLocation, isolation: isolated (any Actor)? = #isolation,
  _ condition: () throws -> Bool
) async throws {
  let deadline = ContinuousClock.now + .seconds(120)
  var looks = 0
  while try !condition() {
    looks += 1
    guard ContinuousClock.now < deadline || looks < 2000 else {
      Issue.record(what, sourceLocation: location)
      return
    }
    try await Task.sleep(for: .milliseconds(5))
  }
}

/// Whether a process has ended. Its exit status may remain, as its adopter may never reap it.
public func hasEnded(_ process: Int32) -> Bool {
  guard let line = FileManager.default.contents(atPath: "/proc/\(process)/stat") else { return kill(process, 0) != 0 }
  return String(decoding: line, as: UTF8.self).contains(") Z ")
}

/// Stops `process`, and waits until each of its threads has stopped: after the signal alone a thread runs on until the
/// kernel reaches it.
public func stop(_ process: Int32, at location: SourceLocation = #_sourceLocation) {
  guard kill(process, SIGSTOP) == 0 else {
    Issue.record("process \(process) cannot be stopped", sourceLocation: location)
    return
  }
  let tasks = "/proc/\(process)/task"
  eventually("process \(process) stops", at: location) {
    (try? FileManager.default.contentsOfDirectory(atPath: tasks))?.allSatisfy { thread in
      // The state follows the program's name, which is in parentheses and may contain anything.
      let status = try? String(contentsOfFile: "\(tasks)/\(thread)/stat", encoding: .utf8)
      return status?.split(separator: ")").last?.hasPrefix(" T") ?? true
    } ?? false
  }
}
