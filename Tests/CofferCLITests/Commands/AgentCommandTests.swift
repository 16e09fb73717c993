import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI
@testable import CofferTerminal

@Suite(.tags(.process), .defaultRun)
struct AgentCommandTests {
  /// A home with a vault and an item, which only the unlocked agent opens.
  private func unlockedHome(_ options: String = "") throws -> Home {
    let home = try Home.withVault()
    try home.transcript("vault set github alice --quiet", in: "tok3n\n")
    try home.transcript("unlock --quiet \(options)")
    home.locked()
    return home
  }

  private func stop(_ home: Home) { _ = try? home.coffer("agent stop") }

  private func status(_ home: Home) throws -> [String: Any] {
    let answer = try home.coffer("status --agent --json")
    return try #require(JSONSerialization.jsonObject(with: answer.bytes) as? [String: Any])
  }

  private func process(_ home: Home) throws -> pid_t { pid_t(try #require(status(home)["process"] as? Int)) }

  @Test
  func `unlock starts an agent; every item command works through it; lock and stop end that`() throws {
    let home = try unlockedHome()
    defer { stop(home) }
    try home.transcript("vault get github", out: "tok3n")
    try home.transcript("vault get github alice --field account", out: "alice")
    #expect(try home.listed() == ["github/alice"])
    #expect(try home.listed("vault find ALI") == ["github/alice"])
    try home.transcript("vault set github bob --create", in: "b")
    try home.transcript("vault set github bob --create", in: "c", err: "the item already exists", exit: 73)
    try home.transcript("vault get github", err: "2 items match: alice, bob", exit: 2)
    #expect(try home.coffer("vault show github bob --reveal").out.contains("value     b"))
    try home.transcript("vault delete github bob")
    try home.transcript("vault delete github bob", err: "no item with this name", exit: 1)
    try home.transcript("set token --domain coffer", in: "s")
    try home.transcript("get token", out: "s")
    try home.transcript("set theme dark --plain")
    try home.transcript("set theme --secret", err: "moved into the vault")
    try home.transcript("get theme", out: "dark")
    try home.transcript("lock")
    try home.transcript("vault get github", err: "there is nothing to unlock it with", exit: 69)
    #expect(try home.coffer("status --agent").status == 69)
    try home.transcript("unlock --quiet --key-file \(home.path)/key")
    try home.transcript("vault get github", out: "tok3n")
    try home.transcript("agent stop")
    let again = try home.coffer("agent stop")
    #expect(again.status == 1 && again.err == "coffer: no agent is running (\(home.path)/run/agent.sock)\n", "\(again.err)")
    try home.transcript("lock")
    try home.transcript("vault get github", err: "there is nothing to unlock it with", exit: 69)
  }

  @Test
  func `the agent stands between the command line and the environment; --no-agent leaves it out`() throws {
    let home = try unlockedHome()
    defer { stop(home) }
    let wrong = try home.file("wrong", "PVKEY1-nonsense")
    try home.transcript("vault get github", with: ["COFFER_KEY_FILE": wrong], out: "tok3n")
    #expect(try home.coffer("vault get github --key-file \(wrong)").status != 0)
    try home.transcript("vault get github --no-agent", err: "nothing to unlock it with", exit: 69)
    try home.transcript("vault get github --no-agent --key-file \(home.path)/key", out: "tok3n")
    try home.transcript(
      "vault get github", with: ["COFFER_EXPECT_VAULT": "00112233445566778899aabbccddeeff"], err: "is expected", exit: 66)
    try home.transcript("unlock --no-agent", err: "nothing to unlock without the agent", exit: 64)
  }

  @Test
  func `status says what the agent does, for people and programs`() throws {
    let home = try unlockedHome("--idle 50m --lifetime 2h")
    defer { stop(home) }
    let said = /agent    unlocked; locks after (4[0-9]|50) min without use, in (1 h 5[0-9] min|2 h) at the latest/
    #expect(try home.coffer("status").out.contains(said))
    let status = try status(home)
    #expect(status["running"] as? Bool == true && status["idle"] as? Int == 3000 && status["lifetime"] as? Int == 7200)
    #expect((status["unlocked"] as? String)?.count == 32 && status["locked"] is NSNull)
    try home.transcript("agent run --detach", err: "an agent is already running", exit: 73)
    try home.transcript("agent run --detach --idle soon", err: "--idle", exit: 64)
    stop(home)
    #expect(try home.coffer("status").out.contains("agent    none; coffer unlock starts one"))
    try home.transcript("status --agent", err: "no agent is running", exit: 1)
    try home.transcript("agent run --detach", err: "agent: locked: nothing has unlocked it yet")
    #expect(try home.listed("vault list --key-file \(home.path)/key") == ["github/alice"])
  }

  @Test
  func `an agent that was killed is replaced, and commands fall through to the next source`() throws {
    let home = try unlockedHome()
    defer { stop(home) }
    let process = try process(home)
    kill(process, SIGKILL)
    #expect(eventually { hasEnded(process) })
    #expect(home.exists("run/agent.sock"))
    try home.transcript("vault get github", err: "nothing to unlock it with", exit: 69)
    try home.transcript("vault get github", with: ["COFFER_KEY_FILE": home.path + "/key"], out: "tok3n")
    try home.transcript("unlock --quiet", with: ["COFFER_KEY_FILE": home.path + "/key"])
    try home.transcript("vault get github", out: "tok3n")
    #expect(try self.process(home) != process)
  }

  @Test
  func `SIGUSR1 locks; SIGTERM ends the agent and takes its socket away`() throws {
    let home = try unlockedHome()
    defer { stop(home) }
    let process = try process(home)
    kill(process, SIGUSR1)
    #expect(try eventually { try status(home)["unlocked"] is NSNull })
    #expect(try status(home)["locked"] as? String == "it was asked to")
    kill(process, SIGTERM)
    #expect(eventually { !home.exists("run/agent.sock") })
  }

  @Test
  func `neither its command line nor its environment nor its folders hold a secret`() throws {
    let home = try Home()
    _ = try home.file("pass", "correct horse")
    try home.transcript("init --quiet --new-passphrase-file \(home.path)/pass")
    unlink(home.path + "/pass")
    let secrets = ["COFFER_PASSPHRASE": "correct horse", "GITHUB_TOKEN": "tok3n"]
    #expect(try home.program(Home.visible + [Home.coffer, "unlock", "--quiet"], with: secrets)?.status == 0)
    defer { stop(home) }
    try home.transcript("vault set x --quiet", in: "tok3n")
    let process = try process(home)
    for file in ["cmdline", "environ"] {
      let content = try String(decoding: Data(contentsOf: URL(fileURLWithPath: "/proc/\(process)/\(file)")), as: UTF8.self)
      #expect(!content.isEmpty && !content.contains("horse") && !content.contains("tok3n"), "\(file)")
    }
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(process)/cwd") == "/")
    for file in 0...2 {
      #expect(try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(process)/fd/\(file)") == "/dev/null")
    }
    let grep = try home.coffer("status --agent --json")
    #expect(!grep.out.contains("horse"))
    #expect(home.mode("run") == 0o700 && home.mode("run/agent.sock") == 0o600)
  }

  @Test(.tags(.root))
  func `another user's agent is not asked, and another user is not answered`() throws {
    guard geteuid() == 0 else { try Test.skip("only root can be another user") }
    let home = try unlockedHome()
    defer { stop(home) }
    let nobody: uid_t = 65534
    // Another user's folder: refused before anything is sent.
    chown(home.path + "/run", nobody, nobody)
    try home.transcript("vault get github", err: "belongs to user 65534", exit: 77)
    try home.transcript("vault get github --no-agent --key-file \(home.path)/key", out: "tok3n")
    chown(home.path + "/run", 0, 0)
    guard access("/usr/bin/python3", X_OK) == 0, access("/usr/bin/setpriv", X_OK) == 0 else {
      try Test.skip("no python3 or setpriv for a client of another user")
    }
    // Open permissions: the other user reaches the socket, and the agent hangs up.
    for path in ["", "/run", "/run/agent.sock"] { chmod(home.path + path, 0o777) }
    let script =
      "import socket,sys; s=socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); "
      + "s.send(bytes([2,0,0,0,1,2])); print('got', len(s.recv(100)))"
    let process = Process()
    let output = Foundation.Pipe()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/setpriv")
    process.arguments = [
      "--reuid=65534", "--regid=65534", "--clear-groups", "/usr/bin/python3", "-c", script, home.path + "/run/agent.sock",
    ]
    process.standardOutput = output
    process.standardError = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    #expect(text.contains("got 0") || text.contains("ConnectionResetError") || text.contains("BrokenPipe"), "\(text)")
    chmod(home.path + "/run", 0o700)
    chmod(home.path, 0o700)
    try home.transcript("vault get github", out: "tok3n")
  }

  @Test
  func `control-C at the passphrase of unlock restores the terminal, and leaves a locked agent`() throws {
    let home = try Home()
    _ = try home.file("pass", "correct horse")
    try home.transcript("init --quiet --new-passphrase-file \(home.path)/pass")
    defer { stop(home) }
    let terminal = try PseudoTerminal()
    let child = try terminal.coffer("unlock", in: home)
    terminal.shows("Passphrase of")
    #expect(!terminal.echoes)
    terminal.type("\u{3}")
    #expect(try child.wait() == 130)
    #expect(terminal.echoes)
    #expect(try home.coffer("status --agent").status == 69)
  }

  @Test
  func `standard output that is closed is exit 141 through the agent too`() throws {
    let home = try unlockedHome()
    defer { stop(home) }
    let process = Process()
    let reader = Foundation.Pipe()
    process.executableURL = URL(fileURLWithPath: Home.coffer)
    process.arguments = ["vault", "get", "github"]
    process.environment = home.environment
    process.standardOutput = reader
    try reader.fileHandleForReading.close()
    try process.run()
    try reader.fileHandleForWriting.close()
    process.waitUntilExit()
    #expect(process.terminationStatus == 141)
  }

  @Test
  func `the unit for systemd is written once, replaced on demand, and is one that systemd takes`() throws {
    let home = try Home.withVault()
    // In systemd's folder, as systemd ignores COFFER_HOME.
    let name = "nobody/.config/systemd/user/coffer-agent.service"
    let file = "\(home.path)/\(name)"
    try home.transcript("agent install --idle 30m", err: "systemctl --user enable --now coffer-agent")
    let unit = try home.content(name)
    #expect(unit.contains("agent run --idle 30m\n") && unit.contains("Environment=COFFER_HOME=\(home.path)\n"))
    try home.transcript("agent install --idle 30m", err: "already exists")
    try home.transcript("agent install", err: "another unit is already there", exit: 73)
    try home.transcript("agent install --replace --quiet")
    #expect(try home.coffer("agent install --print").out == home.content(name))
    let verify = ["/usr/bin/systemd-analyze", "/bin/systemd-analyze"].first(where: FileManager.default.isExecutableFile)
    guard let verify else { try Test.skip(without: "systemd-analyze") }
    let process = Process()
    let output = Foundation.Pipe()
    process.executableURL = URL(fileURLWithPath: verify)
    process.arguments = ["--user", "verify", file]
    process.environment = ["XDG_RUNTIME_DIR": home.path, "HOME": home.path, "PATH": "/usr/bin:/bin"]
    process.standardOutput = output
    process.standardError = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    #expect(process.terminationStatus == 0, "\(text)")
    #expect(!text.contains("coffer-agent.service:"), "\(text)")
  }

  @Test
  func `the unit says a folder's name byte by byte, and refuses one that would begin a line`() throws {
    let home = try Home()
    // To Swift a combining mark makes another character, to systemd it does not; and both forms of é are equal to Swift.
    let marked = "\(home.path)/a\"\u{301}%\u{301}\\\u{301}"
    home.environment["COFFER_VAULT"] = "\(marked).vault"
    let unit = try home.coffer("agent install --print").out
    #expect(
      unit.utf8.split(separator: UInt8(ascii: "\n")).contains { line in
        line.elementsEqual("Environment=\"COFFER_VAULT=\(home.path)/a\\\"\u{301}%%\u{301}\\\\\u{301}.vault\"".utf8)
      }, "\(unit)")
    home.environment["COFFER_VAULT"] = "\(home.path)/\u{E9}.vault"
    try home.transcript("agent install --quiet")
    home.environment["COFFER_VAULT"] = "\(home.path)/e\u{301}.vault"
    try home.transcript("agent install", err: "another unit is already there", exit: 73)
    home.environment["COFFER_VAULT"] = "\(home.path)/a\nExecStartPre=b"
    try home.transcript("agent install --print", err: "COFFER_VAULT contains a control character", exit: 64)
  }

  @Test
  func `the unit goes through a link of one's own, and not through one in a folder that others can write to`() throws {
    let home = try Home()
    let file = try home.file("dotfiles/coffer-agent.service", "old\n")
    let folder = home.path + "/nobody/.config/systemd/user"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(atPath: folder + "/coffer-agent.service", withDestinationPath: file)
    // Independent of the test runner's umask.
    for path in ["nobody", "nobody/.config", "nobody/.config/systemd", "nobody/.config/systemd/user", "dotfiles"] {
      chmod("\(home.path)/\(path)", 0o755)
    }
    chmod(folder, 0o777)
    try home.transcript("agent install --replace", err: "mode 0777 lets other users write to a parent folder", exit: 77)
    #expect(try home.content("dotfiles/coffer-agent.service") == "old\n")
    chmod(folder, 0o755)
    try home.transcript("agent install --replace --quiet")
    #expect(try home.content("dotfiles/coffer-agent.service") == home.coffer("agent install --print").out)
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: folder + "/coffer-agent.service") == file)
  }

  @Test
  func `a unit has the same text in each session of Kerberos, unless its vault is on a server`() throws {
    let home = try Home()
    for command in ["agent install --print", "secret-service install --print"] {
      let texts = try ["FILE:/tmp/krb5cc_1_a", "FILE:/tmp/krb5cc_1_b"].map {
        try home.coffer(command, with: ["KRB5CCNAME": $0, "XDG_DATA_HOME": home.path + "/share"]).out
      }
      #expect(texts[0] == texts[1] && !texts[0].contains("KRB5CCNAME") && texts[0].contains("ExecStart="))
      let place = ["COFFER_VAULT": "postgresql://db.example.com/team#main", "KRB5CCNAME": "FILE:/tmp/krb5cc_1_a"]
      #expect(try home.coffer(command, with: place).out.contains("KRB5CCNAME=FILE:/tmp/krb5cc_1_a"))
    }
  }
}
