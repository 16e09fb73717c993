import CofferTestSupport
import CofferPlatform
import Foundation
import SystemPackage
import Testing

/// A folder of its own for one test, with the built `coffer` working in it and nothing inherited from who runs the tests.
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

  // What a prompt unlocks an agent keeps, which outlives the command.
  deinit { if exists("run/agent.sock") { _ = try? coffer("agent stop") } }

  /// The program, beside the test bundle.
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
      // By another program: a test beside this one may start a program just then, which holds what is open for writing here until
      // its exec, and nobody can execute the file meanwhile.
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

  /// What the program answered.
  struct Answer {
    let status: Int32
    let bytes: Data
    let err: String
    var out: String { String(decoding: bytes, as: UTF8.self) }
  }

  /// Runs `coffer` with the words of `line`; single quotes keep a word together.
  @discardableResult
  func coffer(
    _ line: String, in input: Data = Data(), with variables: [String: String] = [:], descriptors: [Int32: String] = [:]
  ) throws -> Answer {
    let files = try ["in", "out", "err"].map { try file(".run/\(UUID().uuidString).\($0)", $0 == "in" ? input : Data()) }
    defer { for file in files { unlink(file) } }
    let child = try Child(
      Self.words(line), environment: environment.merging(variables) { $1 },
      opening: [0: (files[0], O_RDONLY), 1: (files[1], O_WRONLY), 2: (files[2], O_WRONLY)]
        .merging(descriptors.mapValues { ($0, O_RDONLY) }) { $1 })
    let status = try child.wait()
    let read = { (file: String) in try Data(contentsOf: URL(fileURLWithPath: file)) }
    return Answer(status: status, bytes: try read(files[1]), err: String(decoding: try read(files[2]), as: UTF8.self))
  }

  /// Runs `coffer` as the user `user`, through setpriv(1) when that is another one.
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

  /// One line of a transcript: the command, what it reads, and all that it answers. Messages may be given by a part of them;
  /// without one there must be none.
  func transcript(
    _ line: String, in input: String? = nil, with variables: [String: String] = [:], out: String = "", err: String = "",
    exit status: Int32 = 0, _ location: SourceLocation = #_sourceLocation
  ) throws {
    let answer = try coffer(line, in: Data((input ?? "").utf8), with: variables)
    #expect(answer.status == status, "coffer \(line)\n\(answer.err)", sourceLocation: location)
    #expect(answer.out == out, "coffer \(line)", sourceLocation: location)
    #expect(
      err.isEmpty ? answer.err.isEmpty : answer.err.contains(err), "coffer \(line)\n\(answer.err)", sourceLocation: location)
  }

  static func words(_ line: String) -> [String] {
    var words: [String] = []
    // Not among characters: a combining mark after a blank makes one character of both.
    for (index, part) in line.unicodeScalars.split(separator: "'", omittingEmptySubsequences: false).enumerated() {
      words += index.isMultiple(of: 2) ? part.split(separator: " ").map(String.init) : [String(part)]
    }
    return words
  }
}

/// A started `coffer`, or another program: in a session of its own, so that it has no terminal but one that a test gives it.
final class Child {
  let id: pid_t
  /// Whether it was ended by a signal that had the kernel write its memory to a file.
  private(set) var leftCore = false

  /// - Parameter opening: what each descriptor opens, in ascending order.
  init(
    _ arguments: [String], environment: [String: String], opening: [Int32: (path: String, flags: Int32)],
    program: String = Home.coffer
  ) throws {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    // Other tests' pipes are open meanwhile: a child that held their ends would keep their readers and writers waiting.
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
    // A signal that whoever runs the tests ignores would be ignored by the child too: nohup does so with SIGHUP.
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

  /// Behind _GNU_SOURCE, so asked for by its name; a C library without it has the children hold what they are given.
  private static func close(from first: Int32, _ actions: inout posix_spawn_file_actions_t) {
    typealias AddCloseFrom = @convention(c) (UnsafeMutablePointer<posix_spawn_file_actions_t>, Int32) -> Int32
    guard let symbol = dlsym(nil, "posix_spawn_file_actions_addclosefrom_np") else { return }
    _ = unsafeBitCast(symbol, to: AddCloseFrom.self)(&actions, first)
  }

  /// Whether it has ended; it is waited for all the same.
  func hasEnded() throws -> Bool {
    var facts = siginfo_t()
    return waitid(P_PID, id_t(id), &facts, WEXITED | WNOHANG | WNOWAIT) == 0 && facts.si_signo == SIGCHLD
  }

  /// The exit status as a shell gives it. A child that takes ten minutes hangs, however busy the machine, and is killed.
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
