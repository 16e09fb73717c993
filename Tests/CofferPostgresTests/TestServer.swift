import CofferPlatform
import CofferTestSupport
import Foundation
import Synchronization
import Testing

/// A server of PostgreSQL's that the tests make for themselves: in a folder of its own, of a user without rights, since it refuses root, and
/// without a password over its socket. It ends with this object, or with the process.
final class TestServer: Sendable {
  let folder: String
  let port = 5432
  private let binaries: String
  private let settings: [String]
  /// The shell that the server runs below, which ends it once nobody holds its input.
  private let running = Mutex<Running?>(nil)
  private struct Running: @unchecked Sendable {
    let process: Process
    let input: Pipe
  }

  /// The server that most tests share, each with a vault of its own; nil, with the reason printed, where PostgreSQL is not installed.
  static let shared: TestServer? = make()

  /// A server for one test.
  static func make(settings: [String] = []) -> TestServer? {
    guard let binaries = Self.binaries else {
      if ProcessInfo.processInfo.environment["CI"] == "true" {
        Issue.record("PostgreSQL is not installed: .ci/clients does that")
      }
      print("skipped: PostgreSQL is not installed")
      return nil
    }
    do { return try TestServer(binaries, settings) } catch {
      Issue.record(error)
      return nil
    }
  }

  private static let binaries: String? = {
    let folders = ["/usr/lib/postgresql"].flatMap { root in
      let versions = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
      return versions.sorted { (Int($0) ?? 0) > (Int($1) ?? 0) }.map { "\(root)/\($0)/bin" }
    }
    let path = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
    return (folders + path).first { access("\($0)/initdb", X_OK) == 0 && access("\($0)/postgres", X_OK) == 0 }
  }()

  private init(_ binaries: String, _ settings: [String]) throws {
    self.binaries = binaries
    self.settings =
      [
        "listen_addresses=", "unix_socket_permissions=0777", "max_connections=200", "shared_buffers=32MB",
        "log_min_messages=panic",
      ]
      + settings
    var template = Array("/tmp/coffer-pg-XXXXXX\0".utf8CString)
    let made = template.withUnsafeMutableBufferPointer { buffer in buffer.baseAddress.map { mkdtemp($0) != nil } ?? false }
    try #require(made)
    folder = String(decoding: template.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    if getuid() == 0 {
      let user = try #require(getpwnam("postgres") ?? getpwnam("nobody"))
      try #require(chown(folder, user.pointee.pw_uid, user.pointee.pw_gid) == 0)
    }
    // The server's own folder may not be entered by others; its socket may.
    try #require(chmod(folder, 0o755) == 0)
    try Self.run(
      Self.unprivileged(
        ["\(binaries)/initdb", "-D", "\(folder)/data", "-U", "coffer", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]))
    try start()
  }

  deinit {
    stop(SIGINT)
    try? FileManager.default.removeItem(atPath: folder)
  }

  /// The server runs below a shell that ends it once this process has ended.
  private func start() throws {
    let options = (settings + ["unix_socket_directories=\(folder)"]).flatMap { ["-c", $0] }
    let script = "\"$@\" </dev/null >/dev/null 2>&1 & cat >/dev/null; kill -INT $! 2>/dev/null; wait"
    let words = Self.unprivileged(["/bin/sh", "-c", script, "sh", "\(binaries)/postgres", "-D", "\(folder)/data"] + options)
    let process = Process()
    process.executableURL = URL(fileURLWithPath: words[0])
    process.arguments = Array(words.dropFirst())
    let input = Pipe()
    process.standardInput = input
    try process.run()
    running.withLock { $0 = Running(process: process, input: input) }
    try wait()
  }

  private static func unprivileged(_ words: [String]) -> [String] {
    guard getuid() == 0 else { return words }
    let user = getpwnam("postgres") == nil ? "nobody" : "postgres"
    return ["/usr/bin/setpriv", "--reuid=\(user)", "--regid=\(user == "nobody" ? "nogroup" : user)", "--clear-groups"] + words
  }

  @discardableResult
  private static func run(_ words: [String]) throws -> String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: words[0])
    process.arguments = Array(words.dropFirst())
    let output = Pipe()
    (process.standardOutput, process.standardError) = (output, output)
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    try #require(process.terminationStatus == 0, "\(words[0]): \(text)")
    return text.trimmingCharacters(in: .whitespacesAndNewlines)
  }

  /// Waits until it answers.
  func wait() throws {
    try eventually("the server answers") {
      let ready = Process()
      ready.executableURL = URL(fileURLWithPath: "\(binaries)/pg_isready")
      ready.arguments = ["-q", "-h", folder, "-p", "\(port)", "-U", "coffer", "-d", "postgres"]
      try ready.run()
      ready.waitUntilExit()
      return ready.terminationStatus == 0
    }
  }

  /// The process that all of the server's are children of.
  var pid: pid_t {
    (try? String(contentsOfFile: "\(folder)/data/postmaster.pid", encoding: .utf8)).flatMap { pid_t($0.prefix { $0 != "\n" }) }
      ?? 0
  }

  func stop(_ signal: Int32) { if pid > 1 { kill(pid, signal) } }

  /// Kills all of its processes, as a power failure does, and starts it again.
  func crash() throws {
    let main = pid
    try #require(main > 1)
    kill(main, SIGKILL)
    // The shell goes too.
    let before = running.withLock { $0.take() }
    try before?.input.fileHandleForWriting.close()
    before?.process.waitUntilExit()
    // Those that it left behind notice by themselves; until then the next one does not start.
    try eventually("its processes have noticed") {
      try Self.run(["/bin/sh", "-c", "pgrep -f '[-]D \(folder)/data' || true"]).isEmpty
    }
    try start()
  }

  /// Runs SQL as a superuser.
  @discardableResult
  func sql(_ text: String) throws -> String {
    try Self.run([
      "\(binaries)/psql", "-h", folder, "-p", "\(port)", "-U", "coffer", "-d", "postgres", "-X", "-q", "-A", "-t", "-v",
      "ON_ERROR_STOP=1",
      "-c", text,
    ])
  }

  /// The place of the vault `name`.
  func place(_ name: String = "v\(UInt64.random(in: 0 ... .max))", _ options: String = "") -> String {
    let host = folder.replacingOccurrences(of: "/", with: "%2F")
    return "postgresql://coffer@\(host):\(port)/postgres\(options.isEmpty ? "" : "?\(options)")#\(name)"
  }
}
