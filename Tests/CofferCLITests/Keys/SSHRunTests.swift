import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI

/// `ssh run` with the programs of OpenSSH and systemd.
@Suite(.tags(.process), .defaultRun)
struct SSHRunTests {
  @Test func `a line at the asker's terminal approves its job, and any other line or the end of input refuses`() throws {
    let face = try FaceHome("work --ask always")
    try face.start()
    let job = try PseudoTerminal()
    let jobShell = try face.shell([face.line("work"), face.line("work"), face.line("work")].joined(separator: " && "), at: job)
    job.shows("sign with 'work' for file. [o]nce, this [j]ob, 10 [m]inutes, [N]o? ")
    job.type("j\n")
    #expect(try jobShell.wait() == 0)
    job.showsAll()
    #expect(job.shown.components(separatedBy: "sign with").count == 2, "\(job.shown)")
    for answer in ["n\n", "\u{4}"] {
      let terminal = try PseudoTerminal()
      let shell = try face.shell(face.line("work"), at: terminal)
      terminal.shows("[N]o? ")
      terminal.type(answer)
      #expect(try shell.wait() == 255)
    }
  }

  @Test func `a job in the background is not asked about at its terminal, and waits for ssh allow`() throws {
    let face = try FaceHome("work --ask always")
    try face.start("--patience 10m")
    let (terminal, other) = (try PseudoTerminal(), try PseudoTerminal())
    let shell = try face.shell("set -m; \(face.line("work")) & wait $!", at: terminal)
    try eventually("the question waits") { try face.home.coffer("ssh allow").out.contains("sign file with 'work'") }
    let allow = try other.coffer("ssh allow", in: face.home)
    other.shows("Allow 1? ")
    other.type("o\n")
    #expect(try allow.wait() == 0)
    #expect(try shell.wait() == 0)
    terminal.showsAll()
    #expect(!terminal.shown.contains("sign with"), "\(terminal.shown)")
  }

  @Test func `a program that asks answers, and one that hangs keeps nothing else waiting and ends with its question`() throws {
    let face = try FaceHome("work --ask always", "free")
    let (home, line) = (face.home, face.line("work"))
    let program = try home.file(
      "ask", "#!/bin/sh\necho \"$*\" >>\(home.path)/asked\n. \(home.path)/answer\n", mode: 0o700)
    _ = try home.file("answer", "echo j\n")
    try face.start("--prompt \(program)")
    #expect(try home.program(["sh", "-c", "\(line) && \(line)"])?.status == 0)
    #expect(try home.content("asked").components(separatedBy: "sign with 'work'").count == 2)
    _ = try home.file("answer", "exit 1\n")
    #expect(try face.sign("work") == 255)
    _ = try home.file("answer", "echo $$ >\(home.path)/process\nexec sleep 3600\n")
    let asker = try face.signing("work")
    eventually("it asks") { (try? home.content("process").hasSuffix("\n")) == true }
    let process = try #require(try Int32(home.content("process").dropLast()))
    #expect(try face.sign("free") == 0)
    kill(asker.id, SIGKILL)
    #expect(try asker.wait() == 128 + SIGKILL)
    eventually("the program ends") { hasEnded(process) }
    #expect(try face.sign("free") == 0)
    try home.transcript("ssh allow", err: "there is no open question")
  }

  @Test func `a command gets a socket with the named key, which ends with it, and its status is passed on`() throws {
    let face = try FaceHome("work", "other")
    let words = "ssh run --key work -- sh -c 'test -S $SSH_AUTH_SOCK && echo $SSH_AUTH_SOCK && ssh-add -L; exit 7'"
    let answer = try face.home.coffer(words)
    let lines = answer.out.split(separator: "\n").map(String.init)
    try #require(answer.status == 7 && lines.count == 2, "\(answer)")
    #expect(try lines[0].hasPrefix(face.home.path + "/run/ssh-") && lines[1] + "\n" == face.home.content("work.pub"))
    #expect(access(lines[0], F_OK) != 0)
    #expect(try face.home.coffer("ssh run -- sh -c 'kill -9 $$'").status == 128 + SIGKILL)
    try face.home.transcript("ssh run -- no-such-program", err: "there is no command 'no-such-program'", exit: 127)
  }

  @Test func `install writes what systemd and shells understand, once, and keeps a forwarded agent`() throws {
    let home = try FaceHome().home
    home.environment["SSH_AUTH_SOCK"] = nil
    home.environment["XDG_RUNTIME_DIR"] = home.path
    home.environment["XDG_CONFIG_HOME"] = home.path + "/config"
    let installed = try home.coffer("ssh install")
    #expect(
      installed.status == 0
        && installed.out == "[ \"${SSH_AUTH_SOCK:-}\" ] || export SSH_AUTH_SOCK=\"$XDG_RUNTIME_DIR/run/ssh.sock\"\n")
    let units = ["socket", "service"].map { "config/systemd/user/coffer-ssh.\($0)" }
    let files = units + ["config/environment.d/60-coffer-ssh.conf"]
    let generator = "/usr/lib/systemd/user-environment-generators/30-systemd-environment-d-generator"
    for given in [nil, "/forwarded"] {
      let variables = given.map { ["SSH_AUTH_SOCK": $0] } ?? [:]
      let socket = given ?? "\(home.path)/run/ssh.sock"
      let shell = try home.program(["sh", "-c", installed.out + "printenv SSH_AUTH_SOCK"], with: variables)
      #expect(shell?.out == socket + "\n")
      guard let session = try home.program([generator], with: variables) else { try Test.skip(without: "systemd") }
      #expect(session.out.contains("SSH_AUTH_SOCK=\(socket)\n"), "\(session)")
    }
    if let verified = try home.program(["systemd-analyze", "--user", "verify"] + units.map { "\(home.path)/\($0)" }) {
      #expect(verified.status == 0 && verified.err.isEmpty, "\(verified)")
    }
    let before = try files.map(home.content)
    #expect(try home.coffer("ssh install").out == installed.out)
    #expect(try files.map(home.content) == before)
    _ = try home.file(units[1], before[1] + "# changed\n")
    try home.transcript("ssh install", err: "another file is already there", exit: 73)
    #expect(try home.coffer("ssh install --replace").status == 0)
    #expect(try files.map(home.content) == before)
    #expect(try home.coffer("ssh install --remove").status == 0)
    #expect(!files.contains(where: home.exists))
    try home.transcript("ssh install --remove", err: "nothing is installed", exit: 1)
  }

  @Test func `a path with characters of the shell's and systemd's is written for each of them`() throws {
    let home = try Home()
    home.environment["XDG_CONFIG_HOME"] = home.path + "/config"
    let folder = home.path + "/%t $HOME`id`\"'\\}"
    home.environment["COFFER_HOME"] = folder
    let line = try home.coffer("ssh install").out
    for shell in ["sh", "bash", "zsh"] {
      guard let answer = try home.program([shell, "-c", line + "printenv SSH_AUTH_SOCK"]) else { continue }
      #expect(answer.out == folder + "/run/ssh.sock\n", "\(shell): \(line)")
    }
    let unit = try home.content("config/systemd/user/coffer-ssh.socket")
    #expect(unit.contains("ListenStream=" + folder.replacing("%", with: "%%") + "/run/ssh.sock\n"), "\(unit)")
    let session = try home.content("config/environment.d/60-coffer-ssh.conf")
    #expect(session.contains("%t $$HOME`id`\"'\\\\}/run/ssh.sock"), "\(session)")
  }

  @Test func `without a vault, run and allow say so at once`() throws {
    let home = try Home()
    for line in ["ssh run", "ssh run -- true", "ssh allow"] { try home.transcript(line, err: "there is no vault", exit: 78) }
  }

  @Test func `a socket of systemd's is served, and stays with systemd`() throws {
    let face = try FaceHome("work")
    let program = "/usr/bin/systemd-socket-activate"
    guard access(program, X_OK) == 0 else { try Test.skip(without: program) }
    let variables = face.home.environment.keys.flatMap { ["-E", $0] }
    try face.start(program, ["-l", face.home.path + "/run/ssh.sock"] + variables + [Home.coffer, "ssh", "run"])
    // The socket has its name before it listens.
    try eventually("the key is offered") { try face.home.program(["ssh-add", "-L"])?.out == face.home.content("work.pub") }
    #expect(try face.end() == 0)
    #expect(face.home.exists("run/ssh.sock"))
    let noSocket = try face.home.program(["sh", "-c", "LISTEN_PID=$$ LISTEN_FDS=1 exec \(Home.coffer) ssh run 3</dev/null"])
    #expect(noSocket?.status == 74 && noSocket?.err.contains("descriptor 3 is no socket that listens") == true)
  }

  @Test func `a vault that cannot be written serves on a machine where its log of uses has begun, and no other`() throws {
    let home = try FaceHome().home
    let user: uid_t = geteuid() == 0 ? 65534 : geteuid()
    func own() throws {
      let files = try FileManager.default.subpathsOfDirectory(atPath: home.path).map { "\(home.path)/\($0)" } + [home.path]
      for file in files { chown(file, user, user) }
    }
    try own()
    let made = try home.run(as: user, ["ssh", "new", "work"])
    guard made.status != 126, made.status != 127 else { try Test.skip("another user cannot run the program here") }
    let line = try #require(made.text.split(separator: "\n").first { $0.hasPrefix("ssh-ed25519 ") }, "\(made)")
    let publicHalf = try home.file("work.pub", line + "\n", mode: 0o644)
    #expect(try home.run(as: user, ["agent", "stop"]).status == 0)
    let (folder, vault) = (home.path + "/data", home.path + "/data/vault.sqlite")
    try own()
    for file in try FileManager.default.contentsOfDirectory(atPath: folder) { chmod("\(folder)/\(file)", 0o400) }
    chmod(folder, 0o500)
    defer { chmod(folder, 0o700) }
    let words = ["ssh", "run", "--vault", vault, "--", "ssh-keygen", "-q", "-Y", "sign", "-f", publicHalf, "-n", "file"]
    #expect(try home.run(as: user, words).status == 0)
    #expect(try home.run(as: user, ["vault", "log", "--uses"]).text.contains("\tsign\twork\t"))
    #expect(try home.run(as: user, ["agent", "stop"]).status == 0)
    // The same vault, and no log of this machine's in it: the log belongs to a folder of state.
    home.environment["COFFER_HOME"] = home.path + "/other"
    try FileManager.default.createDirectory(atPath: home.path + "/other", withIntermediateDirectories: false)
    chmod(home.path + "/other", 0o700)
    chown(home.path + "/other", user, user)
    let refused = try home.run(as: user, words)
    #expect(refused.status == 255 && refused.text.contains("refused: could not write to the vault"), "\(refused)")
    #expect(try home.run(as: user, ["vault", "log", "--uses", "--vault", vault]).text.isEmpty)
    #expect(try home.run(as: user, ["agent", "stop", "--vault", vault]).status == 0)
  }

  @Test func `an approval for a time does not follow a clock that is set`() throws {
    let face = try FaceHome("work --ask always"), home = face.home
    #expect(try home.coffer("agent stop").status == 0)
    guard access("/usr/bin/faketime", X_OK) == 0 else { try Test.skip(without: "faketime") }
    let clock = try home.file("clock", "+0")
    let unset = ["-f", "+0", "/usr/bin/env", "-u", "FAKETIME", Home.coffer, "agent", "run"]
    home.environment.merge(["FAKETIME_DONT_FAKE_MONOTONIC": "1", "FAKETIME_NO_CACHE": "1", "FAKETIME_TIMESTAMP_FILE": clock]) {
      $1
    }
    let agent = try face.child("/usr/bin/faketime", unset)
    defer {
      _ = try? home.coffer("agent stop")
      _ = try? agent.wait()
    }
    eventually("the agent listens") { home.exists("run/agent.sock") }
    #expect(try home.coffer("unlock").status == 0)
    try face.start("--patience 0s")
    #expect(try home.program(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", home.path + "/added"])?.status == 0)
    #expect(try home.program(["ssh-add", "-t", "600", home.path + "/added"])?.status == 0)
    unlink(home.path + "/added")
    #expect(try home.coffer("ssh allow work --time 10m").status == 0)
    for time in ["+0", "-3d", "+3d"] {
      try time.write(toFile: clock, atomically: true, encoding: .utf8)
      for key in ["work", "added"] { #expect(try face.sign(key) == 0, "\(key) \(time)") }
    }
    let days = try home.coffer("vault log --uses").out.split(separator: "\n").compactMap { row -> Substring? in
      let cells = row.split(separator: "\t")
      return cells[2] == "sign" ? cells[1].prefix(10) : nil
    }
    #expect(days.count == 6 && Set(days).count == 3, "the clock was set: \(days)")
  }

  @Test func `an agent that is killed at a row is started again, and the log has the gap`() throws {
    let face = try FaceHome("work"), home = face.home
    try Tracing.need()
    try face.start()
    #expect(try face.sign("work") == 0)
    let status = try JSONSerialization.jsonObject(with: home.coffer("status --json").bytes) as? [String: Any]
    let first = try #require((status?["agent"] as? [String: Any])?["process"] as? Int32)
    kill(first, SIGKILL)
    eventually("it has ended") { hasEnded(first) }
    unlink(home.path + "/run/agent.sock")
    let log = try #require(
      FileManager.default.enumerator(atPath: home.path + "/state/uses")?.first { "\($0)".hasSuffix("/0000000001") })
    let rule = ["-P", "\(home.path)/state/uses/\(log)", "-e", "trace=write", "-e", "inject=write:signal=SIGKILL"]
    let traced = try face.child(
      "/usr/bin/strace", ["-f", "-qq", "-o", "/dev/null"] + rule + Home.visible + [Home.coffer, "agent", "run"])
    eventually("the agent listens") { home.exists("run/agent.sock") }
    // The first row of an unlock.
    _ = try home.coffer("unlock")
    #expect(try traced.wait() == 128 + SIGKILL)
    #expect(try face.sign("work") == 0)
    let rows = try home.coffer("vault log --uses").out.split(separator: "\n").map { $0.split(separator: "\t")[2] }
    #expect(rows == ["opened", "sign", "cut", "sign"])
  }

  @Test func `a key that is edited here or elsewhere follows its new rules, and no approval under the old ones counts`()
    throws
  {
    let face = try FaceHome("work --ask always"), home = face.home
    try face.start("--patience 0s")
    func uses() throws -> [Bool] { try ["file", "git"].map { try face.sign("work", $0) == 0 } }
    let allow = "ssh allow work"
    #expect(try home.coffer(allow).status == 0)
    #expect(try uses() == [true, true])
    #expect(try home.coffer("ssh edit work --for sign:git").status == 0)
    #expect(try uses() == [false, false])
    #expect(try home.coffer(allow).status == 0)
    #expect(try uses() == [false, true])
    #expect(try home.coffer("backup -q \(home.path)/copy").status == 0)
    let other = try Home()
    other.environment["COFFER_KEY_FILE"] = home.path + "/key"
    #expect(try other.coffer("restore \(home.path)/copy").status == 0)
    #expect(try other.coffer("ssh edit work --for sign:file").status == 0)
    #expect(try home.coffer("merge \(other.path)/data/vault.sqlite").status == 0)
    #expect(try uses() == [false, false])
    #expect(try home.coffer(allow).status == 0)
    #expect(try uses() == [true, false])
    #expect(try home.coffer("vault log --uses").out.contains("sign:git is not in its rules"))
  }

  @Test func `a login works at the server that is meant, under any name, and not at one that lies about its name`() throws {
    let face = try FaceHome(), home = face.home
    let server = "/usr/sbin/sshd"
    guard access(server, X_OK) == 0 else { try Test.skip(without: server) }
    for name in ["near", "other"] {
      let file = "\(home.path)/\(name)"
      #expect(try home.program(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", file])?.status == 0)
      let lines = ["HostKey \(file)", "AuthorizedKeysFile \(home.path)/work.pub", "StrictModes no", "PidFile none"]
      _ = try home.file(name + ".config", lines.map { $0 + "\n" }.joined())
    }
    home.environment["HOME"] = home.path
    _ = try home.file(".ssh/known_hosts", "near " + home.content("near.pub"))
    try face.make("work --for near")
    try face.start()
    /// Whether ssh, which trusts anyone here, logs in at the server `name` in the belief that it is `host`.
    func isIn(_ host: String, at name: String) throws -> Bool {
      let options = [
        "ProxyCommand=\(server) -i -f \(home.path)/\(name).config", "UserKnownHostsFile=/dev/null", "StrictHostKeyChecking=no",
        "PreferredAuthentications=publickey",
      ]
      let answer = try #require(
        try home.program(["/usr/bin/ssh", "-F", "none"] + options.flatMap { ["-o", $0] } + [host, "echo in"]))
      if answer.err.contains("privilege separation") { try Test.skip("sshd cannot start here") }
      return answer.out == "in\n"
    }
    #expect(try isIn("near", at: "near"))
    #expect(try !isIn("near", at: "other"))
    #expect(try isIn("alias", at: "near"))
    let rows = try home.coffer("vault log --uses").out.split(separator: "\n").map { $0.split(separator: "\t")[2] }
    #expect(rows == ["opened", "login", "login"])
  }

  @Test func `a key is used under its new name, not once it is deleted, and again after undelete with a secret`() throws {
    let face = try FaceHome("work"), home = face.home
    try face.start("--patience 0s")
    #expect(try home.coffer("rename work work/old").status == 0)
    #expect(try face.sign("work") == 0)
    #expect(try home.program(["ssh-add", "-L"])?.out.hasSuffix(" work/old\n") == true)
    #expect(try home.coffer("delete work/old").status == 0)
    #expect(try face.sign("work") == 255)
    try home.transcript("undelete work/old", err: "a key that programs use", exit: 77)
    try home.transcript("undelete work/old --no-agent")
    #expect(try face.sign("work") == 0)
  }

  @Test func `several vaults offer their keys at one socket, and a vault that stays locked keeps no others back`() throws {
    let (face, other) = (try FaceHome("work"), try FaceHome("second"))
    let vault = "\(other.home.path)/data/vault.sqlite"
    let list = "ssh run --patience 0s --also \(vault) -- ssh-add -L"
    #expect(try face.home.coffer(list).out == face.home.content("work.pub"))
    let unlock = "unlock --vault \(vault) --key-file \(other.home.path)/key"
    #expect(try face.home.coffer(unlock).status == 0)
    #expect(try face.home.coffer(list).out == face.home.content("work.pub") + other.home.content("second.pub"))
    #expect(try face.home.coffer("agent stop --vault \(vault)").status == 0)
  }
}
