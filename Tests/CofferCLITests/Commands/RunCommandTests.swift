import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI

@Suite(.tags(.process), .defaultRun)
struct RunCommandTests {
  private func home() throws -> Home {
    let home = try Home.withVault()
    try home.transcript("vault set github ada --attribute env=prod", in: "hunter2")
    try home.transcript("vault set https://db.example.com/x svc", in: "s3cret-db")
    return home
  }

  @Test
  func `secrets arrive as variables, and what unlocks the vault does not`() throws {
    let home = try home()
    try home.transcript(
      "run --env TOKEN=coffer://github/ada -e WHERE=coffer://github/ada/env -e DB=coffer://https%3A%2F%2Fdb.example.com%2Fx -- "
        + "/bin/sh -c 'echo $TOKEN $WHERE $DB'", out: "hunter2 prod s3cret-db\n")
    let seen = try home.coffer("run -e TOKEN=coffer://github -- env", with: ["COFFER_PASSPHRASE": "ignored", "OTHER": "x"])
    #expect(seen.status == 0 && seen.out.contains("OTHER=x\n") && seen.out.contains("TOKEN=hunter2\n"), "\(seen.err)")
    #expect(!seen.out.contains("COFFER_KEY_FILE") && !seen.out.contains("PASSPHRASE"))
    let bare = try home.coffer(
      "run -- env", with: ["COFFER_PASSPHRASE": "a", "COFFER_PASSPHRASE_FILE": "b", "COFFER_IDENTITY": "c", "COFFER_DOMAIN": "d"])
    #expect(bare.status == 0 && bare.out.contains("COFFER_DOMAIN=d\n") && bare.out.contains("COFFER_HOME="))
    #expect(!bare.out.contains("PASSPHRASE") && !bare.out.contains("COFFER_IDENTITY") && !bare.out.contains("COFFER_KEY_FILE"))
    try home.transcript("run -- echo 'a  b' --json -q", out: "a  b --json -q\n")
    try home.transcript("run -e PATH=coffer://github/ada -- sh", err: "there is no command 'sh'", exit: 127)
  }

  @Test
  func `references in the environment are resolved, and the command needs no dashes before it`() throws {
    let home = try home()
    let given = [
      "TOKEN": "coffer://github/ada", "ENV": "coffer://github/ada/env", "TEXT": "see coffer://github/ada", "ODD": "coffer://%",
    ]
    let seen = try home.coffer("run /bin/sh -c 'echo $TOKEN $ENV $TEXT $ODD' --json", with: given)
    #expect(seen.status == 0 && seen.out == "hunter2 prod see coffer://github/ada coffer://%\n", "\(seen.err)")
    let replaced = try home.coffer(
      "run -e TOKEN=coffer://github/ada/env /bin/sh -c 'echo $TOKEN'", with: ["TOKEN": "coffer://nothing/here"])
    #expect(replaced.out == "prod\n", "\(replaced.err)")
    let missing = try home.coffer("run true", with: ["TOKEN": "coffer://nothing/here"])
    #expect(missing.status == 125 && missing.err.contains("coffer://nothing/here"), "\(missing.err)")
    try home.transcript("run --mask echo hunter2 --password x", out: "hunter2 --password x\n")
    try home.transcript("run -- echo -- x", out: "-- x\n")
  }

  @Test
  func `an environment file mixes references and plain values; --env goes before it`() throws {
    let home = try home()
    let file = try home.file(
      "app.env", "TOKEN=coffer://github/ada\nMODE='a b'\nexport DB=\"coffer://https%3A%2F%2Fdb.example.com%2Fx/svc\"\n")
    try home.transcript("run --env-file \(file) -- /bin/sh -c 'echo $TOKEN $MODE $DB'", out: "hunter2 a b s3cret-db\n")
    try home.transcript(
      "run --env-file \(file) -e MODE=coffer://github -- /bin/sh -c 'echo $MODE'", out: "hunter2\n")
    // A file of only references is meant to be shared in a project.
    let shared = try home.file("shared.env", "TOKEN=coffer://github\n", mode: 0o644)
    try home.transcript("run --env-file \(shared) -- /bin/sh -c 'echo $TOKEN'", out: "hunter2\n")
    _ = try home.file("shared.env", "TOKEN=coffer://github\nMODE=x\n", mode: 0o644)
    try home.transcript(
      "run --env-file \(shared) -- /bin/sh -c 'echo $MODE'", out: "x\n", err: "shared.env can be read by other users")
    try home.transcript("run --env-file - -- /bin/sh -c 'echo $A'", in: "A=from input", out: "from input\n")
    home.locked()
    _ = try home.file("plain.env", "MODE=1\n")
    try home.transcript("run --env-file \(home.path)/plain.env -- /bin/sh -c 'echo $MODE'", out: "1\n")
  }

  @Test
  func `secrets arrive on descriptors and as files in memory, and nobody can change those`() throws {
    let home = try home()
    try home.transcript("run --fd 3=coffer://github/ada -- /bin/sh -c 'cat <&3'", out: "hunter2")
    try home.transcript(
      "run --file KEY=coffer://github/ada -- /bin/sh -c 'cat $KEY; cat $KEY; sh -c \"cat $KEY\"'", out: "hunter2hunter2hunter2")
    let binary = Data((0...255).map(UInt8.init))
    #expect(try home.coffer("vault set raw --exact", in: binary).status == 0)
    #expect(try home.coffer("run --fd 9=coffer://raw -- cat /proc/self/fd/9").bytes == binary)
    #expect(try home.coffer("run --mask --file F=coffer://raw --fd 3=coffer://github -- /bin/sh -c 'cat <&3'").out == "<masked>")
    try home.transcript("run -e RAW=coffer://raw -- true", err: "has a NUL byte", exit: 125)
    let change = try home.coffer("run --file F=coffer://github -- /bin/sh -c 'chmod 600 $F; echo x > $F; echo $?; cat $F'")
    #expect(!change.out.hasPrefix("0\n") && change.out.hasSuffix("hunter2"), "\(change)")
  }

  @Test(.tags(.process), .wholeRun, arguments: ["", "--mask "])
  func `a reference that is missing, ambiguous, expired or locked stops before the command starts`(mask: String) throws {
    let home = try home()
    let run = { (reference: String) in "run \(mask)-e A=coffer://github/ada -e B=\(reference) -- touch \(home.path)/started" }
    try home.transcript(run("coffer://github/bob"), err: "'coffer://github/bob': no item with this name", exit: 125)
    try home.transcript(run("coffer://nowhere"), err: "no item with this name", exit: 125)
    try home.transcript(run("coffer://github/ada/nope"), err: "nothing named 'nope'", exit: 125)
    try home.transcript("vault set keys/api stripe", in: "x")
    try home.transcript(run("coffer://keys/api/stripe"), err: "did you mean coffer://keys%2Fapi/stripe?", exit: 125)
    try home.transcript("vault set github eve", in: "x")
    try home.transcript(run("coffer://github"), err: "2 items match", exit: 125)
    try home.transcript("vault set brief --expires 1s", in: "x")
    #expect(try eventually { try home.coffer("vault get brief").status != 0 })
    try home.transcript(run("coffer://brief"), err: "has expired", exit: 125)
    try home.transcript(run("coffer://a/b/c/d"), err: "more parts", exit: 125)
    try home.transcript(run("hunter3"), err: "a secret is never an argument", exit: 125)
    try home.transcript("run -e 'B A=coffer://github' -- true", err: "it contains a space", exit: 125)
    try home.transcript("run --env-file \(home.path)/none -- touch \(home.path)/started", err: "does not exist", exit: 125)
    home.locked()
    try home.transcript(run("coffer://github/ada"), err: "nothing to unlock it with", exit: 125)
    try Home().transcript("run -e A=coffer://x -- true", err: "there is no vault", exit: 125)
    #expect(!home.exists("started"))
  }

  @Test(arguments: ["", "--mask "])
  func `exit statuses are those of env(1), with and without a mask`(mask: String) throws {
    let home = try home()
    let plain = try home.file("plain.txt", "no program")
    let script = try home.file("script", "exit 7\n", mode: 0o700)
    try home.transcript(
      "run \(mask)-e A=coffer://github -- no-such-command", err: "there is no command 'no-such-command'", exit: 127)
    try home.transcript("run \(mask)-- /no/such/command", err: "there is no command", exit: 127)
    try home.transcript("run \(mask)-- \(plain)", err: "cannot be executed", exit: 126)
    try home.transcript("run \(mask)-- /tmp", err: "cannot be executed", exit: 126)
    try home.transcript("run \(mask)-- \(script)", exit: 7)
    try home.transcript("run \(mask)-- /bin/sh -c 'exit 42'", exit: 42)
    try home.transcript("run \(mask)-- false", exit: 1)
    for signal in [SIGTERM, SIGKILL, SIGINT] {
      let answer = try home.coffer("run \(mask)-- /bin/sh -c 'kill -\(signal) $$'")
      #expect(answer.status == 128 + signal)
    }
    try home.transcript("run \(mask)echo hi", out: "hi\n")
    try home.transcript("run \(mask)--bogus -- echo hi", err: "coffer: ", exit: 125)
    try home.transcript("run \(mask)-e A=coffer://github", err: "there is no command", exit: 125)
    try home.transcript("exec \(mask)-e A=coffer://github", err: "there is no command", exit: 125)
    try home.transcript("exec \(mask)-e A=coffer://nothing -- true", err: "no item with this name", exit: 125)
    try home.transcript("run \(mask)--fd 2=coffer://github -- true", err: "from 3 to 1023", exit: 125)
    try home.transcript("run \(mask)-e A=coffer://github -e A=coffer://github -- true", err: "given twice", exit: 125)
    try home.transcript("run \(mask)-- /bin/sh -c 'umask'", out: "0022\n")
  }

  @Test
  func `with --mask no secret passes, on either stream, in whatever pieces it comes`() throws {
    let home = try home()
    let answer = try home.coffer(
      "run --mask -e T=coffer://github -- /bin/sh -c 'echo $T; echo err $T >&2; printf hunt; sleep 0.1; printf er2.; printf hun'")
    #expect(answer.out == "<masked>\n<masked>.hun" && answer.err == "err <masked>\n" && answer.status == 0)
    let large = try home.coffer(
      "run --mask -e T=coffer://github -- /bin/sh -c 'i=0; while [ $i -lt 20000 ]; do echo line $i $T; i=$((i+1)); done'")
    #expect(large.out.split(separator: "\n").count == 20000 && !large.out.contains("hunter2"))
    #expect(large.out.hasSuffix("line 19999 <masked>\n"))
    let file = try home.file("app.env", "LITERAL=literal value\nT=coffer://github\n")
    try home.transcript("run --mask --env-file \(file) -- /bin/sh -c 'echo $LITERAL $T'", out: "literal value <masked>\n")
  }

  @Test
  func `with --mask signals go to the command`() throws {
    let home = try home()
    // 40 is a real-time signal: signal(7).
    let signals: [(Int32, Int32)] = [
      (SIGTERM, 40), (SIGHUP, 41), (SIGUSR1, 42), (SIGXCPU, 43), (SIGABRT, 44), (SIGPIPE, 45), (40, 46),
    ]
    for (signal, status) in signals {
      let ready = home.path + "/ready-\(signal)"
      let child = try Child(
        [
          "run", "--mask", "-e", "T=coffer://github", "--", "/bin/sh", "-c",
          "trap 'exit \(status)' \(signal); touch \(ready); while :; do sleep 0.05; done",
        ],
        environment: home.environment,
        opening: [0: ("/dev/null", O_RDONLY), 1: ("/dev/null", O_WRONLY), 2: ("/dev/null", O_WRONLY)])
      #expect(eventually { access(ready, F_OK) == 0 })
      kill(child.id, signal)
      #expect(try child.wait() == status)
    }
  }

  @Test(.tags(.process), .wholeRun)
  func `with --mask a signal that comes before coffer knows that the command runs goes to it, closed pipes too`() throws {
    let home = try home()
    for (signal, number) in [("PIPE", 13), ("TERM", 15)] {
      // Delays coffer's own signal changes once the command runs. A command that gets no signal ends by itself.
      let script = "trap 'exit 45' \(number); kill -\(signal) $PPID; for i in 1 2 3 4 5 6 7 8 9; do sleep 0.5; done; exit 9"
      let answer = try home.program([
        "strace", "-qq", "-o", home.path + "/trace", "-e", "trace=rt_sigaction", "-e", "inject=rt_sigaction:delay_enter=100000",
        Home.coffer, "run", "--mask", "--", "/bin/sh", "-c", script,
      ])
      guard let answer, answer.status != 1 else { try Test.skip("strace cannot trace a process here") }
      #expect(answer.status == 45, "\(signal): \(answer)")
    }
  }

  @Test
  func `with --mask what a descendant prints after the command has ended comes through, to its end, and masked`() throws {
    let home = try home()
    let answer = try home.coffer(
      "run --mask -e T=coffer://github -- bash -c 'exec > >(sleep 0.3; sed s/^/x/); echo hello $T; exit 5'")
    #expect(answer.out == "xhello <masked>\n" && answer.status == 5, "\(answer)")
    let pid = home.path + "/left"
    let left = try home.coffer("run --mask -- /bin/sh -c 'sleep 900 >/dev/null 2>&1 & echo $! > \(pid); echo done'")
    #expect(left.out == "done\n" && left.status == 0)
    let sleeper = try #require(try pid_t(home.content("left").trimmingCharacters(in: .newlines)))
    #expect(kill(sleeper, SIGKILL) == 0, "it is still there")
  }

  @Test
  func `with --mask a daemon that keeps the output open is waited for, until a signal ends that`() throws {
    let home = try home()
    let (pid, out) = (home.path + "/left", try home.file("out"))
    let child = try Child(
      ["run", "--mask", "-e", "T=coffer://github", "--", "/bin/sh", "-c", "sleep 900 & echo $! > \(pid); echo $T; printf hun"],
      environment: home.environment, opening: [0: ("/dev/null", O_RDONLY), 1: (out, O_WRONLY), 2: ("/dev/null", O_WRONLY)])
    #expect(try eventually { try home.exists("left") && home.content("out") == "<masked>\n" })
    let sleeper = try #require(try pid_t(home.content("left").trimmingCharacters(in: .newlines)))
    // The shell's orphan is coffer's zombie until coffer reaps it.
    #expect(
      eventually { (FileManager.default.contents(atPath: "/proc/\(child.id)/task/\(child.id)/children") ?? Data()).isEmpty })
    #expect(kill(child.id, 0) == 0 && kill(child.id, SIGTERM) == 0)
    #expect(try child.wait() == 128 + SIGTERM)
    #expect(try home.content("out") == "<masked>\nhun")
    #expect(kill(sleeper, SIGKILL) == 0, "it is still there")
  }

  @Test
  func `with --mask signals go to the command while nobody reads its output, and a second one ends the wait for a reader`() throws
  {
    let home = try home()
    let fifo = home.path + "/fifo"
    try #require(mkfifo(fifo, 0o600) == 0)
    let reader = open(fifo, O_RDWR | O_CLOEXEC)
    defer { close(reader) }
    let child = try Child(
      [
        "run", "--mask", "-e", "T=coffer://github", "--", "/bin/sh", "-c",
        "echo $$ > \(home.path)/pid; while :; do echo aaaa; done",
      ],
      environment: home.environment, opening: [0: ("/dev/null", O_RDONLY), 1: (fifo, O_WRONLY), 2: ("/dev/null", O_WRONLY)])
    #expect(
      eventually {
        var room = pollfd(fd: reader, events: Int16(POLLOUT), revents: 0)
        return poll(&room, 1, 0) == 0
      }, "the pipe is full")
    let command = try #require(try pid_t(home.content("pid").trimmingCharacters(in: .newlines)))
    kill(child.id, SIGTERM)
    #expect(eventually { hasEnded(command) }, "the command was told")
    #expect(kill(child.id, 0) == 0, "what it printed waits for a reader")
    // Until the program has seen the command's end, a signal goes to the command, so it is sent again.
    #expect(
      try eventually {
        kill(child.id, SIGTERM)
        return try child.hasEnded()
      })
    #expect(try child.wait() == 128 + SIGTERM)
  }

  @Test
  func `with --mask an output that is full is a closed pipe to the command, which ends first; then it is status 74`() throws {
    let home = try home()
    let run = { (script: String, redirection: String) in
      try #require(try home.program(["sh", "-c", "exec \(Home.coffer) run --mask -- sh -c '\(script)' \(redirection)"]))
    }
    let whole = try run("echo hi; sleep 0.2; touch \(home.path)/ran; exit 3", ">/dev/full")
    #expect(whole.status == 74 && whole.err.contains("could not write the output (standard output)"), "\(whole)")
    #expect(home.exists("ran"), "the command was let go on to its end")
    let told = try run("while echo line; do :; done; touch \(home.path)/told", ">/dev/full")
    #expect(told.status == 74 && !home.exists("told"), "a closed pipe ends it")
    let killed = try run("echo hi; sleep 0.2; kill -9 $$", ">/dev/full")
    #expect(killed.status == 74, "\(killed)")
    #expect(try run("echo hi >&2; sleep 0.2; exit 3", "2>/dev/full").status == 74)
    // A file size limit sends a signal to the writer, which is coffer.
    let (long, out) = ("while echo line; do :; done; touch \(home.path)/limited", "\(home.path)/limit")
    let limited = try #require(
      try home.program(["sh", "-c", "ulimit -f 1; exec \(Home.coffer) run --mask -- sh -c '\(long)' >\(out)"]))
    #expect(limited.status == 74 && !home.exists("limited"), "\(limited)")
    let gone = try #require(
      try home.program(["bash", "-c", "\(Home.coffer) run --mask -- sh -c 'yes; exit 3' | head -1; echo ${PIPESTATUS[0]}"]))
    #expect(gone.out == "y\n3\n" || gone.out == "y\n141\n", "\(gone)")
  }

  @Test(.tags(.process), .wholeRun, arguments: ["", "--mask "])
  func `the command cannot read again what unlocks the vault, on whatever descriptor and by whatever name it came`(mask: String)
    throws
  {
    let home = try Home.withPassphrase("plum sofa").home
    let pass = home.path + "/pass"
    #expect(symlink("/dev/fd/7", home.path + "/link") == 0)
    let set = try home.coffer("vault set s a --no-agent --passphrase-file \(pass)", in: Data("v".utf8))
    #expect(set.status == 0, "\(set.err)")
    for (number, name, variables) in [
      (0, "--passphrase-fd 0", [:]), (0, "--passphrase-file -", [:]), (0, "--passphrase-file /dev/stdin", [:]),
      (7, "--passphrase-fd 7", [:]), (7, "--passphrase-file /dev/fd/7", [:]), (7, "--passphrase-file \(home.path)/link", [:]),
      (0, "--no-agent", ["COFFER_PASSPHRASE_FILE": "-"]), (7, "--no-agent", ["COFFER_PASSPHRASE_FILE": "/dev/fd/7"]),
    ] as [(Int, String, [String: String])] {
      let line = "run \(mask)\(name) -e X=coffer://s/a -- sh -c 'cat /dev/fd/\(number); echo end' \(number)<\(pass)"
      let answer = try #require(try home.program(["sh", "-c", "exec \(Home.coffer) \(line)"], with: variables))
      #expect(answer.status == 0 && answer.out == "end\n", "\(line): \(answer)")
    }
  }

  /// `-` means standard input only for a passphrase.
  @Test(arguments: ["COFFER_KEY_FILE", "COFFER_IDENTITY"], ["", "--mask "])
  func `the command reads its standard input where a key's file is called -`(variable: String, mask: String) throws {
    let home = try home()
    home.locked()
    try home.transcript("run \(mask)-- cat", in: "given", with: [variable: "-"], out: "given")
    guard variable == "COFFER_KEY_FILE" else { return }
    // The key is in the file of that name in the current folder.
    #expect(rename(home.path + "/key", home.path + "/-") == 0)
    let line = "cd \(home.path) && printf given | \(Home.coffer) run \(mask)-e T=coffer://github/ada -- sh -c 'cat; echo $T'"
    let answer = try #require(try home.program(["sh", "-c", line], with: [variable: "-"]))
    #expect(answer.status == 0 && answer.out == (mask.isEmpty ? "givenhunter2\n" : "given<masked>\n"), "\(answer)")
  }

  @Test
  func `a value that is too large for the environment says how else it can be given`() throws {
    let home = try home()
    #expect(try home.coffer("vault set big", in: Data(repeating: 0x61, count: 200_000)).status == 0)
    for mask in ["", "--mask "] {
      try home.transcript("run \(mask)-e BIG=coffer://big -- true", err: "try: give a large value with --file or --fd", exit: 126)
    }
    try home.transcript("run --file BIG=coffer://big -- /bin/sh -c 'wc -c <$BIG'", out: "200000\n")
  }

  @Test
  func `no secret is in the words or the environment of coffer itself`() throws {
    let home = try home()
    let script = "touch \(home.path)/up; exec sleep 900"
    let started = try home.start(by: Home.visible, ["run", "--mask", "-e", "T=coffer://github", "--", "/bin/sh", "-c", script])
    let child = started.child
    #expect(eventually { home.exists("up") })
    for file in ["cmdline", "environ"] {
      let content = FileManager.default.contents(atPath: "/proc/\(child.id)/\(file)") ?? Data()
      #expect(!content.isEmpty && content.range(of: Data("hunter2".utf8)) == nil, "\(file)")
    }
    kill(child.id, SIGTERM)
    #expect(try child.wait() == 128 + SIGTERM)
  }
}
