import CofferTestSupport
import Foundation
import Testing

/// A process of the test tool that lives beside the test: it is told what to do line by line, stopped, or killed, perhaps by
/// strace at a chosen system call.
final class Peer {
  private let process = Process()
  private let input = Pipe()
  private let output = Pipe()
  private let reader: FileHandle
  private var unread = ""

  /// Starts the tool, under strace where `tracing` says with which options, and waits until it has everything open, if `opens`.
  init(_ home: Home, _ arguments: [String], tracing: [String]? = nil, opens: Bool = true) throws {
    let command = [Home.toolPath] + arguments
    let whole = tracing.map { ["/usr/bin/strace", "-f"] + $0 + command } ?? command
    process.executableURL = URL(fileURLWithPath: whole[0])
    process.arguments = Array(whole.dropFirst())
    process.standardInput = input
    process.standardOutput = output
    let errors = FileManager.default.temporaryDirectory.path + "/coffer-peer-\(UUID().uuidString)"
    _ = FileManager.default.createFile(atPath: errors, contents: nil)
    defer { try? FileManager.default.removeItem(atPath: errors) }
    process.standardError = FileHandle(forWritingAtPath: errors)
    process.environment = Sanitizing.environment.merging(["SWIFT_BACKTRACE": "enable=no", "PATH": "/usr/bin:/bin"]) { $1 }
    // A reader of the pipe outlives the peer: a request to a dead one then raises no SIGPIPE, which would end the tests.
    reader = FileHandle(
      fileDescriptor: fcntl(input.fileHandleForReading.fileDescriptor, F_DUPFD_CLOEXEC, 0), closeOnDealloc: true)
    try process.run()
    guard !opens || readLine() == "open" else {
      process.waitUntilExit()
      throw Failed(what: "the peer did not open: \(try String(contentsOfFile: errors, encoding: .utf8))")
    }
  }

  deinit {
    if process.isRunning { kill() }
  }

  struct Failed: Error { let what: String }

  /// The process that runs the tool.
  private(set) lazy var toolProcess: Int32 = {
    let children = try? String(
      contentsOfFile: "/proc/\(process.processIdentifier)/task/\(process.processIdentifier)/children", encoding: .utf8)
    let child = children?.split(separator: " ").first.flatMap { Int32($0) }
    return process.executableURL?.path == "/usr/bin/strace" ? child ?? process.processIdentifier : process.processIdentifier
  }()

  /// Tells the peer to do `request`, without waiting.
  func tell(_ request: String) {
    // A peer that is dead cannot be told anything, which is what its silence then says.
    try? input.fileHandleForWriting.write(contentsOf: Data((request + "\n").utf8))
  }

  /// What the peer answers next; nil when it died instead.
  func hear() -> String? {
    guard readLine() == "begin" else { return nil }
    return readLine()
  }

  /// Tells the peer to do `request`; nil when it died instead of answering.
  func ask(_ request: String) -> String? {
    tell(request)
    return hear()
  }

  /// Freezes the peer: nothing of it runs when this returns.
  func freeze() { stop(toolProcess) }

  func signal(_ number: Int32) { Foundation.kill(toolProcess, number) }

  /// Ends the peer as nobody can prevent.
  func kill() {
    signal(SIGKILL)
    process.waitUntilExit()
  }

  /// Whether this peer lives once `asker`, which was told something, has answered or died.
  func isRunning(after asker: Peer) -> Bool {
    _ = asker.hear()
    return process.isRunning
  }

  /// Waits for a peer that has died.
  func wait() { process.waitUntilExit() }

  /// The next line that the peer writes; nil when it died instead.
  func readLine() -> String? {
    while true {
      if let end = unread.firstIndex(of: "\n") {
        defer { unread = String(unread[unread.index(after: end)...]) }
        return String(unread[..<end])
      }
      let more = output.fileHandleForReading.availableData
      guard !more.isEmpty else { return nil }
      unread += String(decoding: more, as: UTF8.self)
    }
  }
}
