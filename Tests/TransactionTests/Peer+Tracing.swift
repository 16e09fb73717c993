import CofferTestSupport
import Foundation
import Testing

/// A system call of a traced request: strace counts each kind separately, from its attachment.
struct TracedCall: Hashable, CustomStringConvertible {
  let name: String
  let number: Int
  var description: String { "\(name) \(number)" }
}

final class Tracer {
  /// Calls that change a file, a lock or a socket.
  static let calls =
    "pwrite64,write,fsync,fdatasync,ftruncate,fallocate,?unlink,unlinkat,?rename,renameat2,fcntl,flock,openat,close,connect,sendto,shutdown"

  private let process = Process()
  private let errors = Pipe()
  private let log: String

  /// - Parameters:
  ///   - options: the injected fault; none to list the calls.
  ///   - calls: the traced calls.
  init(_ peer: Peer, _ options: [String] = [], calls: [String] = [Tracer.calls]) throws {
    log = FileManager.default.temporaryDirectory.path + "/coffer-trace-\(UUID().uuidString)"
    process.executableURL = URL(fileURLWithPath: "/usr/bin/strace")
    process.arguments = ["-f", "-p", "\(peer.toolProcess)", "-o", log, "-e", "trace=\(calls.joined(separator: ","))"] + options
    process.standardError = errors
    process.standardInput = FileHandle.nullDevice
    try process.run()
    var said = ""
    while !said.contains("attached") {
      let more = errors.fileHandleForReading.availableData
      guard !more.isEmpty else { throw Peer.Failed(what: "strace did not attach: \(said)") }
      said += String(decoding: more, as: UTF8.self)
    }
  }

  deinit { try? FileManager.default.removeItem(atPath: log) }

  convenience init(killing peer: Peer, at call: TracedCall) throws {
    try self.init(peer, ["-e", "inject=\(call.name):signal=KILL:when=\(call.number)"])
  }

  /// Detaches from the peer, or waits for strace to have seen its end.
  func end() {
    // Test threads block the gentler signals, and their children inherit that. A tracer that dies releases its process.
    kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
  }

  func injected() throws -> Int {
    try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n").count { $0.contains("(INJECTED)") }
  }

  /// The calls of the peer's request, on its busiest thread.
  ///
  /// - Parameter changing: whether to leave out openings that make nothing and other fcntl commands.
  func requestedCalls(changing: Bool = true) throws -> [TracedCall] {
    end()
    var counts: [String: [String: Int]] = [:]
    var calls: [String: [TracedCall]] = [:]
    var isOver = false
    for line in try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n") where !isOver {
      // THREAD NAME(ARGUMENTS) = RESULT
      guard let open = line.firstIndex(of: "("), !line.contains("resumed>") else { continue }
      let words = line[..<open].split(separator: " ")
      guard words.count == 2 else { continue }
      let (thread, name) = (String(words[0]), String(words[1]))
      counts[thread, default: [:]][name, default: 0] += 1
      // The peer's messages to the test are not part of its work.
      if line.contains("write(1, ") {
        isOver = !line.contains("begin")
        continue
      }
      if changing, name == "openat", !line.contains("O_CREAT") { continue }
      if changing, name == "fcntl", !line.contains("SETLK") { continue }
      calls[thread, default: []].append(TracedCall(name: name, number: counts[thread]?[name] ?? 0))
    }
    return calls.values.max { $0.count < $1.count } ?? []
  }
}

extension Home {
  static func canAttach() throws -> Bool {
    try Tracing.need()
    return try attaches.get()
  }

  private static let attaches = Result<Bool, any Error> {
    let home = try Home()
    let peer = try Peer(home, ["serve", home.path, home.keyFile])
    do {
      try Tracer(peer).end()
      return true
    } catch { return false }
  }
}
