import CofferTestSupport
import Foundation
import SystemPackage
import Testing

@testable import CofferVault

/// The `TestTool` under strace(1), which fails a chosen system call or kills the tool at it.
struct TracedTool {
  enum Fault: String {
    case kill = "signal=SIGKILL"
    case inputOutput = "error=EIO"
    case noSpace = "error=ENOSPC"
  }

  struct End {
    let code: Int32
    let wasSignalled: Bool
    let output: String
    /// The faulty call as strace shows it; nil if it was never reached.
    let call: String?
    var isAcknowledged: Bool { output.contains("acknowledged\n") }
    /// Whether it exited without success, also by a sanitizer's report.
    var isFailure: Bool { !wasSignalled && code != 0 }
  }

  static let path = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().path + "/TestTool"
  /// Calls that change, examine or lock a file.
  static let calls =
    "pwrite64,pread64,fsync,fdatasync,ftruncate,fallocate,openat,unlink,rename,renameat2,link,mkdir,fcntl,flock,newfstatat,fstat"
  /// Calls that take space.
  static let spending = "pwrite64,openat,ftruncate,fallocate,fsync,fdatasync,rename,renameat2,link,mkdir"

  let folder: FilePath
  let arguments: [String]

  init(_ place: TemporaryVault, _ step: String) {
    folder = place.folder
    arguments = ["step", place.path.string, place.folder.appending("key").string, step]
  }

  private var log: String { folder.string + ".strace" }
  var environment: [String: String] { Self.environment(pins: folder.appending("pins")) }

  static func environment(pins: FilePath) -> [String: String] {
    Sanitizing.environment.merging(["COFFER_TEST_PINS": pins.string, "SWIFT_BACKTRACE": "enable=no"]) { $1 }
  }

  /// A system call of a run: strace counts each kind separately.
  struct Call {
    let name: String
    let number: Int
    /// For each kind of call, the number of the first one from here on.
    let following: [String: Int]
  }

  func points(of calls: String) throws -> [Call] {
    let end = try run("/usr/bin/strace", ["-f", "-o", log, "-e", "trace=\(calls)", Self.path] + arguments)
    defer { unlink(log) }
    guard end.code == 0 else { throw Failed(what: "\(arguments): \(end.output)") }
    var counts: [String: Int] = [:]
    var points: [Call] = []
    for line in try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n") {
      guard let open = line.firstIndex(of: "("), let name = line[..<open].split(separator: " ").last.map(String.init) else {
        continue
      }
      counts[name, default: 0] += 1
      if points.isEmpty, !line.contains(folder.string) { continue }
      points.append(
        Call(
          name: name, number: counts[name] ?? 0, following: counts.mapValues { $0 + 1 }.merging([name: counts[name] ?? 0]) { $1 })
      )
    }
    return points
  }

  /// Runs the tool with `fault` at `call`, and at all of `calls` after it if it `persists`.
  func run(_ fault: Fault, at call: Call, of calls: String? = nil) throws -> End {
    let kinds = calls.map { $0.split(separator: ",").map(String.init) } ?? [call.name]
    let injections = kinds.flatMap { kind in
      let number = kind == call.name ? call.number : call.following[kind] ?? 1
      return ["-e", "inject=\(kind):\(fault.rawValue):when=\(number)\(calls == nil ? "" : "+")"]
    }
    let end = try run(
      "/usr/bin/strace", ["-f", "-o", log, "-e", "trace=\(kinds.joined(separator: ","))"] + injections + [Self.path] + arguments)
    defer { unlink(log) }
    let lines = try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n").map(String.init)
    let line = fault == .kill ? lines.last { $0.contains("(") } : lines.first { $0.contains("(INJECTED)") }
    return End(code: end.code, wasSignalled: end.wasSignalled, output: end.output, call: line)
  }

  /// Runs the tool with a file size limit: the write that crosses it is short, and later ones fail.
  func run(fileLimit limit: Int) throws -> End {
    try run(Self.path, arguments, ["COFFER_TEST_FILE_LIMIT": "\(limit)"])
  }

  struct Failed: Error { let what: String }

  func run(_ program: String, _ arguments: [String], _ more: [String: String] = [:]) throws -> End {
    let process = Process()
    let pipe = Pipe()
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = arguments
    process.environment = environment.merging(more) { $1 }
    process.standardOutput = pipe
    process.standardError = pipe
    process.standardInput = FileHandle.nullDevice
    try process.run()
    let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return End(
      code: process.terminationStatus, wasSignalled: process.terminationReason == .uncaughtSignal, output: output, call: nil)
  }
}
