import CofferTestSupport
import Foundation
import Testing

/// A parallel test tool process that executes lines of input, and is stopped, or killed, perhaps by strace at a chosen
/// system call.
final class Peer {
  private let process = Process()
  private let input = Pipe()
  private let output = Pipe()
  private let reader: FileHandle
  private var unread = ""

  /// Starts the tool, under strace with the options `tracing` if given, and waits until it has everything open, if `opens`.
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
    // A reader of the pipe outlives the peer: a request to a dead peer then raises no SIGPIPE, which would end the tests.
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

  private(set) lazy var toolProcess: Int32 = {
    let children = try? String(
      contentsOfFile: "/proc/\(process.processIdentifier)/task/\(process.processIdentifier)/children", encoding: .utf8)
    let child = children?.split(separator: " ").first.flatMap { Int32($0) }
    return process.executableURL?.path == "/usr/bin/strace" ? child ?? process.processIdentifier : process.processIdentifier
  }()

  /// Sends `request` to the peer, without waiting.
  func tell(_ request: String) {
    // A dead peer cannot be told anything, as its silence then shows.
    try? input.fileHandleForWriting.write(contentsOf: Data((request + "\n").utf8))
  }

  /// The peer's next answer; nil if it died.
  func hear() -> String? {
    guard readLine() == "begin" else { return nil }
    return readLine()
  }

  /// Sends `request` to the peer and returns the answer; nil if it died.
  func ask(_ request: String) -> String? {
    tell(request)
    return hear()
  }

  /// Freezes the peer: none of it runs when this returns.
  func freeze() { stop(toolProcess) }

  func signal(_ number: Int32) { Foundation.kill(toolProcess, number) }

  /// Ends the peer unpreventably.
  func kill() {
    signal(SIGKILL)
    process.waitUntilExit()
  }

  /// Whether this peer lives once `asker` has answered its request or died.
  func isRunning(after asker: Peer) -> Bool {
    _ = asker.hear()
    return process.isRunning
  }

  func wait() { process.waitUntilExit() }

  /// The peer's next line; nil if it died.
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
