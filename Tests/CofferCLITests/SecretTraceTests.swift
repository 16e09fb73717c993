import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI

/// A canary goes through every command that handles a secret. Meanwhile everything that others see of the processes is
/// searched: words, environment, name; and afterwards every file, the shell's history, and crash leftovers.
@Suite(.tags(.process), .defaultRun)
struct SecretTraceTests {
  private static let canary = "canary-Zk3vQ9sLw8Xy2Bn5Rt7U"
  /// The secret of a server's client, and the prefix of its tokens.
  private static let canaries = [canary, OAuthServer.mark, OAuthServer.secret]

  /// A named pipe with both ends in the test, so that a reader or writer can be blocked.
  private final class Gate {
    let path: String
    let descriptor: Int32

    init(_ home: Home, _ name: String) throws {
      path = "\(home.path)/\(name)"
      try #require(mkfifo(path, 0o600) == 0)
      descriptor = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
      try #require(descriptor >= 0)
    }

    deinit { close(descriptor) }

    func send(_ text: String) { _ = text.withCString { write(descriptor, $0, strlen($0)) } }

    var waiting: Int32 {
      var count: Int32 = 0
      _ = ioctl(descriptor, UInt(FIONREAD), &count)
      return count
    }
  }

  private func wait(_ what: String, _ condition: () throws -> Bool) throws {
    let deadline = Date() + 60
    while try !condition() {
      try #require(Date() < deadline, "waited in vain: \(what)")
      usleep(5_000)
    }
  }

  /// The processes that descend from `roots`, and `roots`.
  private static func family(_ roots: [pid_t]) throws -> [pid_t] {
    var parents: [pid_t: pid_t] = [:]
    for name in try FileManager.default.contentsOfDirectory(atPath: "/proc") {
      guard let id = pid_t(name), let line = try? String(contentsOfFile: "/proc/\(id)/stat", encoding: .utf8) else { continue }
      parents[id] = line.split(separator: ") ").last?.split(separator: " ").dropFirst().first.flatMap { pid_t($0) }
    }
    var found = roots
    while case let next = parents.filter({ found.contains($1) && !found.contains($0) }).map(\.key), !next.isEmpty {
      found += next
    }
    return found
  }

  /// Searches the system's view of the processes; returns how many were readable.
  ///
  /// - Parameter isRunning: whether at least one must be readable.
  @discardableResult
  private func search(_ roots: [pid_t], isRunning: Bool = true, while what: String) throws -> Int {
    let processes = try Self.family(roots)
    var searched = 0
    for process in processes {
      for file in ["cmdline", "environ", "comm", "status"] {
        // Files that this user cannot read are unreadable to the user's other processes too.
        guard let content = FileManager.default.contents(atPath: "/proc/\(process)/\(file)") else { continue }
        searched += file == "cmdline" && !content.isEmpty ? 1 : 0
        for canary in Self.canaries {
          #expect(content.range(of: Data(canary.utf8)) == nil, "\(what): /proc/\(process)/\(file) shows the secret")
        }
      }
    }
    #expect(searched > 0 || !isRunning, "\(what): no process was seen")
    return searched
  }

  private func search(_ child: Child, while what: String) throws {
    repeat { try search([child.id], isRunning: false, while: what) } while try !child.hasEnded()
  }

  private func searchFiles(_ home: Home) {
    for file in FileManager.default.enumerator(atPath: home.path) ?? .init() {
      let path = "\(home.path)/\(file)"
      var facts = stat()
      guard lstat(path, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG, !path.contains("/.run/") else { continue }
      let content = FileManager.default.contents(atPath: path)
      for canary in Self.canaries { #expect(content?.range(of: Data(canary.utf8)) == nil, "\(file) holds the secret") }
    }
  }

  /// Starts the program where a crash may leave a core file, if this machine permits it.
  private func start(_ home: Home, _ words: [String], in input: String = "/dev/null", out: String = "/dev/null") throws -> Child {
    try Child(
      ["-c", "cd '\(home.path)'; ulimit -c unlimited 2>/dev/null; exec \"$0\" \"$@\"", Home.coffer] + words,
      environment: home.environment, opening: [0: (input, O_RDONLY), 1: (out, O_WRONLY), 2: ("/dev/null", O_WRONLY)],
      program: "/bin/sh")
  }

  @Test
  func `a crash leaves a core file of others here, so that its absence says something`() throws {
    let home = try Home()
    let child = try Child(
      ["-c", "cd '\(home.path)'; ulimit -c unlimited; kill -SEGV $$"], environment: home.environment,
      opening: [0: ("/dev/null", O_RDONLY), 2: ("/dev/null", O_WRONLY)], program: "/bin/sh")
    _ = try child.wait()
    if !child.leftCore { try Test.skip("this machine writes no core files, so that none of ours could be seen") }
  }

  private func home() throws -> Home {
    let home = try Home.withVault()
    // More than a pipe holds, so that the printing command blocks.
    let long = Data((Self.canary + String(repeating: "x", count: 200_000)).utf8)
    #expect(try home.coffer("vault set long", in: long).status == 0)
    try home.transcript("vault set short ada", in: Self.canary)
    return home
  }

  @Test(arguments: [SIGTERM, SIGSEGV, SIGABRT, SIGQUIT])
  func `set: while it reads the value; and a crash in the midst of it leaves no core`(signal: Int32) throws {
    let home = try Home.withVault()
    let gate = try Gate(home, "in")
    for words in [
      ["vault", "set", "x"], ["set", "token", "--domain", "app"], ["login", "h", "--with-token"],
      ["helper", "keyring", "set", "s", "ada"],
    ] {
      let child = try start(home, words, in: gate.path)
      gate.send(Self.canary)
      try wait("the value to be read") { gate.waiting == 0 }
      try search([child.id], while: "\(words)")
      kill(child.id, signal)
      #expect(try child.wait() == 128 + signal)
      #expect(!child.leftCore)
    }
    searchFiles(home)
  }

  @Test
  func `get, show, export, inject: while they write the value`() throws {
    let home = try home()
    let template = try home.file("template", "{{ coffer://long }}")
    for words in [
      ["vault", "get", "long"], ["vault", "show", "long", "--reveal"], ["vault", "get", "long", "--json"],
      ["export", "--reveal"], ["inject", "-i", template], ["helper", "keyring", "get", "long"],
      ["helper", "kubectl", "long"],
    ] {
      let gate = try Gate(home, "out")
      let child = try start(home, words, out: gate.path)
      try wait("the value to be written") { gate.waiting >= 4096 }
      try search([child.id], while: "\(words)")
      kill(child.id, SIGSEGV)
      #expect(try child.wait() == 128 + SIGSEGV)
      #expect(!child.leftCore)
      unlink(gate.path)
    }
    searchFiles(home)
  }

  @Test(.tags(.process), .wholeRun, arguments: [false, true])
  func `a login, a renewal and a logout at a server: while they wait for it, and what they leave`(web: Bool) throws {
    let server = try OAuthServer(.authlib)
    let home = try Home.withVault()
    let secret = try home.file("secret", OAuthServer.secret)
    // A login by code is of a public program, which has no secret.
    let client = web ? "service --client-secret-file \(secret)" : "program"
    try home.transcript(
      "provider add git.example --issuer \(server.issuer) --client-id \(client)", err: "git.example logs in at")
    unlink(secret)
    // The server delays the requests, each with tokens or its client's secret in transit.
    let slow = { (path: String) in try server.fault(503, String(repeating: " ", count: 100), drip: 0.02, at: path) }
    let login = try home.startLogin(server, web: web)
    _ = try #require(try login.page())
    try search([login.command.child.id], while: "login, web \(web)")
    try slow("/token")
    try login.answer(server)
    try search(login.command.child, while: "login, web \(web)")
    var end = try login.command.end()
    // A login by code retries after a brief server fault; a browser's code is valid once.
    #expect(end.status == (web ? 75 : 0), "\(end.err)")
    if web { try home.logIn(server, web: true) }
    for words in [["token", "--fresh"], ["token", "--fresh", "--json"], ["logout"]] {
      try slow(words[0] == "logout" ? "/revoke" : "/token")
      let command = try home.start(words)
      try search(command.child, while: "\(words)")
      end = try command.end()
      #expect(end.status == (words[0] == "logout" ? 0 : 75), "\(words): \(end.err)")
      #expect(Self.canaries.allSatisfy { !end.err.contains($0) && !end.out.contains($0) })
      if words[0] != "logout" { #expect(try home.coffer("token --fresh").status == 0) }
    }
    searchFiles(home)
    for log in ["vault log", "vault log --json"] {
      let out = try home.coffer(log)
      #expect(out.status == 0 && Self.canaries.allSatisfy { !out.out.contains($0) })
    }
  }

  @Test
  func `run: coffer and the command, but for the variable that was asked for`() throws {
    let home = try home()
    try home.transcript("vault set https://h.example ada", in: Self.canary)
    for (index, words) in [
      ["--mask", "--file", "K=coffer://short"], ["--fd", "5=coffer://short"], ["--mask", "--fd", "5=coffer://short"],
      ["--netrc", "ada@h.example"], ["--mask", "--netrc", "ada@h.example"],
    ].enumerated() {
      let child = try start(
        home, ["run"] + words + ["--", "/bin/sh", "-c", "touch \(home.path)/up\(index); while :; do sleep 0.05; done"])
      try wait("the command to run") { home.exists("up\(index)") }
      try search([child.id], while: "\(words)")
      kill(child.id, SIGTERM)
      #expect(try child.wait() == 128 + SIGTERM)
    }
    // With --env only the command has it in its environment; coffer has not.
    let child = try start(
      home,
      [
        "run", "--mask", "--env", "T=coffer://short", "--", "/bin/sh", "-c",
        "touch \(home.path)/up; while :; do sleep 0.05; done",
      ])
    try wait("the command to run") { home.exists("up") }
    for file in ["cmdline", "environ"] {
      let content = FileManager.default.contents(atPath: "/proc/\(child.id)/\(file)") ?? Data()
      #expect(content.range(of: Data(Self.canary.utf8)) == nil, "\(file)")
    }
    kill(child.id, SIGTERM)
    #expect(try child.wait() == 128 + SIGTERM)
    searchFiles(home)
  }

  @Test
  func `edit: coffer and the editor, and nothing is left when either is killed`() throws {
    guard access("/dev/shm", W_OK) == 0 else { try Test.skip("there is no /dev/shm") }
    let home = try home()
    home.environment["EDITOR"] = try home.file(
      "editor", "#!/bin/sh\nprintf %s \"$1\" > \(home.path)/place\ntouch \(home.path)/up\nwhile :; do sleep 0.05; done\n",
      mode: 0o700)
    let child = try start(home, ["vault", "edit", "short"])
    try wait("the editor") { home.exists("up") }
    try search([child.id], while: "edit")
    let editors = try Self.family([child.id]).filter { $0 != child.id }
    kill(child.id, SIGTERM)
    for editor in editors { kill(editor, SIGTERM) }
    #expect(try child.wait() != 0)
    #expect(access(try home.content("place"), F_OK) != 0)
    searchFiles(home)
  }

  @Test
  func `the agent: while it holds what it was given and hands it out; and its crash leaves no core`() throws {
    let home = try home()
    try home.transcript("unlock --quiet")
    defer { _ = try? home.coffer("agent stop") }
    home.locked()
    try home.transcript("vault set other", in: Self.canary)
    try home.transcript("vault get short", out: Self.canary)
    let status = try JSONSerialization.jsonObject(with: home.coffer("status --agent --json").bytes) as? [String: Any]
    let agent = try pid_t(#require(status?["process"] as? Int))
    try search([agent], while: "agent")
    let limits = try String(contentsOfFile: "/proc/\(agent)/limits", encoding: .utf8)
    #expect(limits.contains(/Max core file size +0 +0/))
    searchFiles(home)
  }

  @Test
  func `the shell's history and the terminal show none of what was typed at the prompt`() throws {
    let home = try Home.withVault()
    try home.withHelpers()
    let terminal = try PseudoTerminal()
    let history = home.path + "/history"
    let shell = try terminal.program(
      ["bash", "--norc", "--noprofile", "-i"], in: home, with: ["TERM": "dumb", "PS1": "> ", "HISTFILE": history])
    guard let shell else { try Test.skip(without: "bash") }
    terminal.type("coffer set typed\n")
    terminal.shows("Value of the new item typed: ")
    terminal.type(Self.canary + "\n")
    terminal.shows("Repeat: ")
    try search([shell.id], while: "the prompt")
    terminal.type(Self.canary + "\n")
    // Input while the echo is off belongs to the prompt, so the next command waits until that is over.
    try wait("the value to be stored") { try home.coffer("vault get typed").out == Self.canary }
    terminal.type("coffer get typed | wc -c; echo and-$?\n")
    terminal.shows("\(Self.canary.utf8.count)\r\nand-0")
    terminal.type("exit\n")
    #expect(try shell.wait() == 0)
    #expect(try home.content("history").contains("coffer set typed"))
    #expect(!terminal.shown.contains(Self.canary))
    searchFiles(home)
  }
}
