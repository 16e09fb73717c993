import CofferTestSupport
import Foundation
import Testing

/// A parallel test tool process that executes lines of input, and is stopped or killed, perhaps by strace at a system call.
final class Peer {
  private let process = Process()
  private let input = Pipe()
  private let output = Pipe()
  private let reader: FileHandle
  private var unread = ""

  /// Starts the tool, under strace with the options `tracing` if given; if it `opens`, waits for that.
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
    // A reader of the pipe outlives the peer: otherwise a request to a dead peer raises SIGPIPE, which ends the tests.
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

  func tell(_ request: String) {
    // A dead peer cannot be told anything, as its silence then shows.
    try? input.fileHandleForWriting.write(contentsOf: Data((request + "\n").utf8))
  }

  func hear() -> String? {
    guard readLine() == "begin" else { return nil }
    return readLine()
  }

  /// Sends `request` to the peer and returns the answer; nil if it died.
  func ask(_ request: String) -> String? {
    tell(request)
    return hear()
  }

  func freeze() { stop(toolProcess) }

  func signal(_ number: Int32) { Foundation.kill(toolProcess, number) }

  func kill() {
    signal(SIGKILL)
    process.waitUntilExit()
  }

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
