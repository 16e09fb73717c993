internal import CofferPlatform
internal import Foundation
internal import Synchronization
import Testing

/// The tests' own PostgreSQL server: in its own folder, under an unprivileged user because it refuses root, and without a
/// password over its socket. It ends with this object, or with the process.
public final class DatabaseServer: Sendable {
  /// The folder of its socket.
  public let folder: String
  /// The number in its socket's name.
  public let port: Int
  /// Unique to each server of this process: some listen at an address too. From 32 768 on Linux gives ports to clients, so
  /// one may be in use.
  static let ports = Atomic<Int>(Int.random(in: 20_000...32_000))
  private let binaries: String
  private let settings: [String]
  private let network: TestNetwork?
  /// The disk of a part of its files, if any.
  public let disk: SmallDisk?
  /// The shell above the server, which ends it once nobody holds the shell's input.
  private let running = Mutex<Running?>(nil)
  struct Running: @unchecked Sendable {
    let process: Process
    let input: Pipe
  }

  /// The server that most tests share, each with its own vault; skips a test if PostgreSQL is not installed.
  public static var shared: DatabaseServer {
    get throws {
      _ = try installed()
      return try common.get()
    }
  }
  private static let common = Result { try make() }

  /// A part of a server's files.
  public enum Part: String, Sendable {
    case tables = "base"
    /// The write-ahead log.
    case log = "pg_wal"
  }

  /// A server for one test, which is skipped if PostgreSQL is not installed, or no disk can be mounted.
  ///
  /// - Parameters:
  ///   - network: two computers, of which one runs it; both see its socket.
  ///   - disk: a part of its files with a separate disk, and the disk's size in bytes.
  public static func make(
    settings: [String] = [], on network: TestNetwork? = nil, disk: (of: Part, bytes: Int)? = nil
  ) throws -> DatabaseServer {
    try DatabaseServer(installed(), settings, on: network, disk: disk)
  }

  private static func installed() throws -> String {
    guard let binaries else { try Test.skip(without: "PostgreSQL") }
    return binaries
  }

  private static let binaries: String? = {
    let folders = ["/usr/lib/postgresql"].flatMap { root in
      let versions = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
      return versions.sorted { (Int($0) ?? 0) > (Int($1) ?? 0) }.map { "\(root)/\($0)/bin" }
    }
    let path = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
    return (folders + path).first { access("\($0)/initdb", X_OK) == 0 && access("\($0)/postgres", X_OK) == 0 }
  }()

  private init(
    _ binaries: String, _ settings: [String], of primary: DatabaseServer? = nil, on network: TestNetwork? = nil,
    disk: (of: Part, bytes: Int)? = nil
  ) throws {
    port = Self.ports.add(1, ordering: .relaxed).oldValue
    self.binaries = binaries
    self.network = network
    self.settings =
      [
        "port=\(port)", "listen_addresses=\(network?.address ?? "")", "unix_socket_permissions=0777", "max_connections=200",
        "shared_buffers=32MB",
        "log_min_messages=panic",
      ]
      + settings
    folder = try Self.makeFolder()
    if let primary {
      let from = ["-h", primary.folder, "-p", "\(primary.port)", "-U", "coffer", "-D", "\(folder)/data"]
      try Self.run(Self.unprivileged(["\(binaries)/pg_basebackup", "-R", "--no-sync", "--checkpoint=fast"] + from))
    } else {
      try Self.copyEmptyData(to: "\(folder)/data", binaries)
    }
    if let disk {
      let part = "\(folder)/data/\(disk.of.rawValue)"
      do { self.disk = try SmallDisk.make(at: part, bytes: disk.bytes, owner: Self.owner) } catch {
        try Self.run(["/bin/rm", "-rf", folder])
        throw error
      }
    } else {
      self.disk = nil
    }
    if network != nil { try add(rule: "host all all samenet trust") }
    try start()
  }

  /// A standby with this server's data, which follows its writes until it is promoted.
  ///
  /// - Parameter isSynchronous: whether a commit of this one waits for it.
  public func standby(isSynchronous: Bool) throws -> DatabaseServer {
    let standby = try DatabaseServer(binaries, [], of: self)
    try eventually("the standby is there") {
      try sql("SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'") == "1"
    }
    guard isSynchronous else { return standby }
    try sql("ALTER SYSTEM SET synchronous_standby_names = '*'")
    try sql("SELECT pg_reload_conf()")
    try eventually("it is waited for") { try sql("SELECT sync_state FROM pg_stat_replication") == "sync" }
    return standby
  }

  /// A folder of the servers' user that others may enter, for the socket; the server's own must be private.
  private static func makeFolder() throws -> String {
    var template = Array("/tmp/coffer-pg-XXXXXX\0".utf8CString)
    let made = template.withUnsafeMutableBufferPointer { buffer in buffer.baseAddress.map { mkdtemp($0) != nil } ?? false }
    try #require(made)
    let folder = String(decoding: template.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    if getuid() == 0 { try run(["/bin/chown", user, folder]) }
    try #require(chmod(folder, 0o755) == 0)
    return folder
  }

  /// The files of an empty server: made once, as that takes longer than most tests, and removed by a shell after this
  /// process.
  private static let emptyData = Mutex<(path: String, keeper: Running)?>(nil)

  private static func copyEmptyData(to path: String, _ binaries: String) throws {
    try emptyData.withLock { made in
      if made == nil {
        let folder = try makeFolder()
        let keeper = try shell("read how; rm -rf \"$1\"", [folder])
        try run(
          unprivileged(
            [
              "\(binaries)/initdb", "-D", "\(folder)/data", "-U", "coffer", "-A", "trust", "-E", "UTF8", "--locale=C",
              "--no-sync",
            ]))
        made = ("\(folder)/data", keeper)
      }
      if let made { try run(["/bin/cp", "-a", made.path, path]) }
    }
  }

  /// Starts a shell whose input ends with this process.
  static func shell(_ script: String, _ words: [String], behind first: [String] = []) throws -> Running {
    let command = first + unprivileged(["/bin/sh", "-c", script, "sh"] + words)
    let process = Process()
    process.executableURL = URL(fileURLWithPath: command[0])
    process.arguments = Array(command.dropFirst())
    let input = Pipe()
    process.standardInput = input
    try process.run()
    return Running(process: process, input: input)
  }

  /// The server runs below a shell that ends it once this process has ended.
  private func start() throws {
    let options = (settings + ["unix_socket_directories=\(folder)"]).flatMap { ["-c", $0] }
    // Not wait(1), which may sleep on if the server has already ended. Until this shell has reaped a kept server, the next
    // one would take it for running.
    let script =
      "folder=$1; shift; \"$@\" </dev/null >/dev/null 2>&1 & read how; [ \"$how\" = keep ] || kill -INT $! 2>/dev/null; "
      + "while kill -0 $! 2>/dev/null; do sleep 0.1; done; [ \"$how\" = keep ] || rm -rf \"$folder\""
    let started = try Self.shell(
      script, [folder, "\(binaries)/postgres", "-D", "\(folder)/data"] + options, behind: network?.atServer ?? [])
    running.withLock { $0 = started }
    try wait()
  }

  /// The servers' user if root runs the tests.
  private static let user = getpwnam("postgres") == nil ? "nobody" : "postgres"
  private static let owner = getuid() == 0 ? getpwnam(user)?.pointee.pw_uid ?? 0 : getuid()

  private static func unprivileged(_ words: [String]) -> [String] {
    guard getuid() == 0 else { return words }
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
  public func wait() throws {
    try eventually("the server answers") {
      let ready = Process()
      ready.executableURL = URL(fileURLWithPath: "\(binaries)/pg_isready")
      ready.arguments = ["-q", "-h", folder, "-p", "\(port)", "-U", "coffer", "-d", "postgres"]
      try ready.run()
      ready.waitUntilExit()
      return ready.terminationStatus == 0
    }
  }

  /// The server's main process.
  public var pid: Int32 {
    (try? String(contentsOfFile: "\(folder)/data/postmaster.pid", encoding: .utf8)).flatMap { Int32($0.prefix { $0 != "\n" }) }
      ?? 0
  }

  private var sharedMemory: Int? {
    let lines = (try? String(contentsOfFile: "\(folder)/data/postmaster.pid", encoding: .utf8))?.split(separator: "\n") ?? []
    // The seventh line, as the fifth may be empty: its key and its id.
    let words = lines.map { $0.split(separator: " ") }.first { $0.count == 2 && $0.allSatisfy { Int($0) != nil } }
    return words.flatMap { Int($0[1]) }
  }

  private func attached(to memory: Int) throws -> Int {
    let rows = try String(contentsOfFile: "/proc/sysvipc/shm", encoding: .utf8).split(separator: "\n")
    let row = rows.map { $0.split(separator: " ") }.first { $0.count > 6 && Int($0[1]) == memory }
    return row.flatMap { Int($0[6]) } ?? 0
  }

  /// Sends a signal to the main process.
  public func stop(_ signal: Int32) { if pid > 1 { kill(pid, signal) } }

  /// Starts it again after it has ended.
  public func restart() throws {
    try endShell()
    try start()
  }

  private func endShell() throws {
    guard let before = running.withLock({ $0.take() }) else { return }
    try before.input.fileHandleForWriting.write(contentsOf: Data("keep\n".utf8))
    try before.input.fileHandleForWriting.close()
    before.process.waitUntilExit()
  }

  /// Kills all of its processes, as a power failure does, and starts it again.
  public func crash() throws {
    let (main, memory) = (pid, sharedMemory)
    try #require(main > 1 && memory != nil)
    kill(main, SIGKILL)
    try endShell()
    // Orphans notice by themselves; the next server does not start until the last has released its memory.
    try eventually("its processes have noticed") { try attached(to: memory ?? 0) == 0 }
    try start()
  }

  /// Runs SQL as a superuser.
  ///
  /// - Parameters:
  ///   - role: the user.
  ///   - database: the database.
  ///   - other: the number in the socket's name of a proxy of the server.
  @discardableResult
  public func sql(
    _ text: String, as role: String = "coffer", in database: String = "postgres", through other: Int? = nil
  ) throws -> String {
    try Self.run([
      "\(binaries)/psql", "-h", folder, "-p", "\(other ?? port)", "-U", role, "-d", database, "-X", "-q", "-A", "-t", "-v",
      "ON_ERROR_STOP=1",
      "-c", text,
    ])
  }

  /// Enables TLS with a certificate for 127.0.0.1, and returns it; skips the test if openssl is not installed.
  public func useTLS() throws -> String {
    guard access("/usr/bin/openssl", X_OK) == 0 else { try Test.skip(without: "openssl") }
    let data = "\(folder)/data"
    try Self.run(
      Self.unprivileged([
        "/usr/bin/openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
        "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "\(data)/server.key", "-out",
        "\(folder)/server.crt",
      ]))
    try sql("ALTER SYSTEM SET ssl_cert_file = '\(folder)/server.crt'")
    try sql("ALTER SYSTEM SET ssl = on")
    try sql("SELECT pg_reload_conf()")
    try eventually("TLS is on") { try sql("SHOW ssl") == "on" }
    return "\(folder)/server.crt"
  }

  /// Creates `role`, which authenticates with `password`.
  public func makeRole(_ role: String, password: String) throws {
    try sql("CREATE ROLE \(role) LOGIN SUPERUSER PASSWORD '\(password)'")
    try add(rule: "local all \(role) scram-sha-256")
    try sql("SELECT pg_reload_conf()")
  }

  private func add(rule: String) throws {
    let file = "\(folder)/data/pg_hba.conf"
    let rules = try String(contentsOfFile: file, encoding: .utf8)
    // In place, so that it keeps its owner.
    let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: file))
    try handle.write(contentsOf: Data("\(rule)\n\(rules)".utf8))
    try handle.close()
  }

  /// Runs `body` while an asynchronous standby follows the server.
  public func withStandby(_ body: () throws -> Void) throws {
    let taken = "\(folder)/taken"
    try Self.run(Self.unprivileged(["/bin/mkdir", taken]))
    try withReader(["pg_receivewal", "-D", taken], body)
  }

  /// Runs `body` with a subscriber to table changes that could not replace the server. It needs `wal_level=logical`.
  public func withSubscriber(_ body: () throws -> Void) throws {
    try sql("SELECT pg_create_logical_replication_slot('subscriber', 'test_decoding')")
    try withReader(["pg_recvlogical", "-d", "postgres", "--slot", "subscriber", "--start", "-f", "/dev/null"], body)
  }

  private func withReader(_ words: [String], _ body: () throws -> Void) throws {
    let standby = Process()
    let words = Self.unprivileged(["\(binaries)/\(words[0])", "-h", folder, "-p", "\(port)", "-U", "coffer"] + words.dropFirst())
    standby.executableURL = URL(fileURLWithPath: words[0])
    standby.arguments = Array(words.dropFirst())
    standby.standardError = FileHandle.nullDevice
    try standby.run()
    defer {
      kill(standby.processIdentifier, SIGKILL)
      standby.waitUntilExit()
    }
    try eventually("the standby is there") { try sql("SELECT count(*) FROM pg_stat_replication") == "1" }
    try body()
  }

  /// The place of the vault `name` on the primary of this server and `other`.
  public func place(_ name: String, besides other: DatabaseServer) -> String {
    let hosts = [self, other].map { "\($0.folder.replacingOccurrences(of: "/", with: "%2F")):\($0.port)" }.joined(separator: ",")
    return "postgresql://coffer@\(hosts)/postgres#\(name)"
  }

  /// The place of the vault `name`, from the other end of the network.
  public func placeOnNetwork(_ name: String, _ options: String) -> String {
    "postgresql://coffer@\(network?.address ?? "nowhere.invalid"):\(port)/postgres?\(options)#\(name)"
  }

  /// The place of the vault `name`.
  public func place(_ name: String = "v\(UInt64.random(in: 0 ... .max))", _ options: String = "") -> String {
    let host = folder.replacingOccurrences(of: "/", with: "%2F")
    return "postgresql://coffer@\(host):\(port)/postgres\(options.isEmpty ? "" : "?\(options)")#\(name)"
  }
}
