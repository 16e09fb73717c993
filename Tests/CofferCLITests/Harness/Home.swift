import CofferTestSupport
import CofferPlatform
import Foundation
import SystemPackage
import Testing

/// A separate folder for one test, in which the built `coffer` runs without the environment of the test runner.
final class Home {
  private let folder: TestFolder
  var path: String { folder.path.string }
  var environment: [String: String]

  init() throws {
    folder = try TestFolder("cli")
    let path = folder.path.string
    environment = Sanitizing.environment.merging([
      "COFFER_HOME": path, "HOME": path + "/nobody", "PATH": "/usr/bin:/bin", "SWIFT_BACKTRACE": "enable=no",
    ]) { $1 }
  }

  // A prompt that unlocks starts an agent, which outlives the command.
  deinit { if exists("run/agent.sock") { _ = try? coffer("agent stop") } }

  static let coffer = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    .deletingLastPathComponent().appendingPathComponent("coffer").path

  func file(_ name: String, _ content: String = "", mode: mode_t = 0o600) throws -> String {
    try file(name, Data(content.utf8), mode: mode)
  }

  func file(_ name: String, _ content: Data, mode: mode_t = 0o600) throws -> String {
    let file = "\(path)/\(name)"
    try FileManager.default.createDirectory(
      atPath: (file as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
    if mode & 0o111 == 0 {
      try content.write(to: URL(fileURLWithPath: file))
    } else {
      // By another program: a child of a parallel test may hold files open for writing here until its exec, and meanwhile
      // nobody can execute the file.
      try content.write(to: URL(fileURLWithPath: file + ".new"))
      defer { unlink(file + ".new") }
      let copy = Process()
      copy.executableURL = URL(fileURLWithPath: "/bin/cp")
      copy.arguments = [file + ".new", file]
      try copy.run()
      copy.waitUntilExit()
      try #require(copy.terminationStatus == 0)
    }
    chmod(file, mode)
    return file
  }

  func exists(_ name: String) -> Bool { access("\(path)/\(name)", F_OK) == 0 }
  func content(_ name: String) throws -> String { try String(contentsOfFile: "\(path)/\(name)", encoding: .utf8) }
  func mode(_ name: String) -> mode_t {
    var facts = stat()
    return lstat("\(path)/\(name)", &facts) == 0 ? facts.st_mode & 0o7777 : 0
  }

  struct Answer {
    let status: Int32
    let bytes: Data
    let err: String
    var out: String { String(decoding: bytes, as: UTF8.self) }
  }

  @discardableResult
  func coffer(
    _ line: String, in input: Data = Data(), with variables: [String: String] = [:], descriptors: [Int32: String] = [:],
    at folder: String? = nil
  ) throws -> Answer {
    let files = try ["in", "out", "err"].map { try file(".run/\(UUID().uuidString).\($0)", $0 == "in" ? input : Data()) }
    defer { for file in files { unlink(file) } }
    let child = try Child(
      Self.words(line), environment: environment.merging(variables) { $1 },
      opening: [0: (files[0], O_RDONLY), 1: (files[1], O_WRONLY), 2: (files[2], O_WRONLY)]
        .merging(descriptors.mapValues { ($0, O_RDONLY) }) { $1 }, at: folder)
    let status = try child.wait()
    let read = { (file: String) in try Data(contentsOf: URL(fileURLWithPath: file)) }
    return Answer(status: status, bytes: try read(files[1]), err: String(decoding: try read(files[2]), as: UTF8.self))
  }

  /// Runs `coffer` as `user`, through setpriv(1) if that is another one.
  func run(as user: uid_t, _ arguments: [String]) throws -> (status: Int32, text: String) {
    let process = Process()
    let output = Pipe()
    let isOther = user != geteuid()
    process.executableURL = URL(fileURLWithPath: isOther ? "/usr/bin/setpriv" : Self.coffer)
    process.arguments =
      (isOther ? ["--reuid=\(user)", "--regid=\(user)", "--clear-groups", Self.coffer] : []) + arguments
    process.environment = environment
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = output
    process.standardError = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return (process.terminationStatus, text)
  }

  /// A command, its input and its output. A part of a message suffices; without one there must be none.
  func transcript(
    _ line: String, in input: String? = nil, at folder: String? = nil, with variables: [String: String] = [:], out: String = "",
    err: String = "", exit status: Int32 = 0, _ location: SourceLocation = #_sourceLocation
  ) throws {
    let answer = try coffer(line, in: Data((input ?? "").utf8), with: variables, at: folder)
    #expect(answer.status == status, "coffer \(line)\n\(answer.err)", sourceLocation: location)
    #expect(answer.out == out, "coffer \(line)", sourceLocation: location)
    #expect(
      err.isEmpty ? answer.err.isEmpty : answer.err.contains(err), "coffer \(line)\n\(answer.err)", sourceLocation: location)
  }

  /// The names that `line` prints for a program, each with its label if it has one.
  func listed(_ line: String = "vault list", with variables: [String: String] = [:]) throws -> [String] {
    try coffer(line, with: variables).out.split(separator: "\n").map { row in
      let cells = row.split(separator: "\t", omittingEmptySubsequences: false)
      guard cells.count == 5, cells[1] == "vault" || cells[1] == "defaults" else { return String(row) }
      return "\(cells[0]) \(cells[2])".trimmingCharacters(in: .whitespaces)
    }
  }

  static func words(_ line: String) -> [String] {
    var words: [String] = []
    // By Unicode scalars: a combining mark after a blank forms one character with it.
    for (index, part) in line.unicodeScalars.split(separator: "'", omittingEmptySubsequences: false).enumerated() {
      words += index.isMultiple(of: 2) ? part.split(separator: " ").map(String.init) : [String(part)]
    }
    return words
  }
}

/// A started `coffer` or other program, in a separate session, so that its only terminal is one from the test.
final class Child {
  let id: pid_t
  /// Whether a signal ended it that made the kernel dump core.
  private(set) var leftCore = false

  /// - Parameter opening: the file for each descriptor, in ascending order.
  init(
    _ arguments: [String], environment: [String: String], opening: [Int32: (path: String, flags: Int32)],
    program: String = Home.coffer, at folder: String? = nil
  ) throws {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    if let folder { try Self.enter(folder, &actions) }
    // Pipes of other tests are open: a child with their ends would keep their readers and writers waiting.
    Self.close(from: 3, &actions)
    for (descriptor, file) in opening.sorted(by: { $0.key < $1.key }) {
      posix_spawn_file_actions_addopen(&actions, descriptor, file.path, file.flags, 0)
    }
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    // The child would inherit signals that the test runner ignores: nohup does so with SIGHUP.
    var all = sigset_t()
    sigfillset(&all)
    posix_spawnattr_setsigdefault(&attributes, &all)
    let newSession: Int16 = 0x80  // POSIX_SPAWN_SETSID, behind _GNU_SOURCE.
    posix_spawnattr_setflags(&attributes, newSession | Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
    let argv = ([program] + arguments).map { strdup($0) } + [nil]
    let envp = environment.map { strdup("\($0)=\($1)") } + [nil]
    defer { for text in argv + envp { free(text) } }
    var child: pid_t = 0
    let status = posix_spawn(&child, program, &actions, &attributes, argv, envp)
    try #require(status == 0, "posix_spawn of \(program): \(String(cString: strerror(status)))")
    id = child
  }

  /// Behind _GNU_SOURCE, too.
  private static func enter(_ folder: String, _ actions: inout posix_spawn_file_actions_t) throws {
    typealias AddChdir = @convention(c) (UnsafeMutablePointer<posix_spawn_file_actions_t>, UnsafePointer<CChar>) -> Int32
    let symbol = try #require(dlsym(nil, "posix_spawn_file_actions_addchdir_np"))
    _ = unsafeBitCast(symbol, to: AddChdir.self)(&actions, folder)
  }

  /// Behind _GNU_SOURCE, so looked up by name; without it the children inherit descriptors.
  private static func close(from first: Int32, _ actions: inout posix_spawn_file_actions_t) {
    typealias AddCloseFrom = @convention(c) (UnsafeMutablePointer<posix_spawn_file_actions_t>, Int32) -> Int32
    guard let symbol = dlsym(nil, "posix_spawn_file_actions_addclosefrom_np") else { return }
    _ = unsafeBitCast(symbol, to: AddCloseFrom.self)(&actions, first)
  }

  /// Whether it has ended; it still must be waited for.
  func hasEnded() throws -> Bool {
    var facts = siginfo_t()
    return waitid(P_PID, id_t(id), &facts, WEXITED | WNOHANG | WNOWAIT) == 0 && facts.si_signo == SIGCHLD
  }

  /// The exit status as in a shell. A child that takes ten minutes hangs, even on a busy machine, and is killed.
  func wait() throws -> Int32 {
    var status: Int32 = 0
    let deadline = Date() + 600
    while true {
      let ended = waitpid(id, &status, WNOHANG)
      if ended == id {
        leftCore = status & 0x7F != 0 && status & 0x80 != 0
        return status & 0x7F == 0 ? status >> 8 & 0xFF : 128 + status & 0x7F
      }
      if Date() > deadline {
        kill(id, SIGKILL)
        waitpid(id, &status, 0)
        Issue.record("the program did not end within ten minutes")
        return 137
      }
      usleep(2_000)  // No event: each wait for a child of this process takes a thread.
    }
  }
}
