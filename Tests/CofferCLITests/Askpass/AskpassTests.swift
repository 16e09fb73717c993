import CofferMemory
import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI
@testable import CofferTerminal

@Suite(.tags(.process), .wholeRun)
struct AskpassTests {
  private let passphrase = "plum 100% sofa kité"

  private func home() throws -> Home { try Home.withPassphrase(passphrase).home }

  /// A program that records its prompt and its environment, and answers with `body`.
  private func program(_ home: Home, _ name: String = "askpass", body: String) throws -> String {
    try home.file(
      "bin/\(name)", "#!/bin/sh\necho \"$*\" >> \(home.path)/asked\nenv > \(home.path)/environment\n\(body)\n", mode: 0o700)
  }

  @Test
  func `COFFER_ASKPASS is asked with the question as its word, and what it answers goes to the agent`() throws {
    let home = try home()
    home.environment["COFFER_ASKPASS"] = try program(home, body: "cat \(home.path)/pass")
    try home.transcript("helper git get", in: "protocol=https\nhost=example.com\n")
    #expect(
      try home.content("asked")
        == "git wants the password of https://example.com.\nPassphrase of \(home.path)/data/vault.sqlite:\n")
    try home.transcript("vault list")
    #expect(try home.content("asked").split(separator: "\n").count == 2, "asked once")
    let environment = try home.content("environment")
    #expect(environment.contains("SSH_ASKPASS_REQUIRE=never") && environment.contains("COFFER_ASKPASS=\n"))
    #expect(!environment.contains("plum"))
  }

  @Test
  func `a wrong answer is asked for again, three times; cancelling, silence and a missing program are locked`() throws {
    let home = try home()
    home.environment["COFFER_ASKPASS"] = try program(home, body: "echo wrong")
    try home.transcript("vault list", err: "wrong passphrase", exit: 77)
    let asked = try home.content("asked")
    #expect(
      asked.contains("Wrong passphrase. Try again (2 left).\n") && asked.contains("Wrong passphrase. Try again (1 left).\n"))
    home.environment["COFFER_ASKPASS"] = try program(home, body: "exit 1")
    try home.transcript("vault list", err: "gave no passphrase: it ended with status 1", exit: 69)
    home.environment["COFFER_ASKPASS"] = try program(home, body: "true")
    try home.transcript("vault list", err: "nothing was entered", exit: 64)
    home.environment["COFFER_ASKPASS"] = home.path + "/nowhere"
    try home.transcript("vault list", err: "it cannot be started: No such file or directory", exit: 69)
    home.environment["COFFER_ASKPASS"] = try program(home, body: "head -c 5000 /dev/zero")
    try home.transcript("vault list", err: "longer than 4096 bytes", exit: 69)
  }

  @Test(arguments: [
    ([:], false), (["DISPLAY": ":9"], true), (["WAYLAND_DISPLAY": "wayland-9"], true), (["SSH_ASKPASS_REQUIRE": "force"], true),
    (["DISPLAY": ":9", "SSH_ASKPASS_REQUIRE": "never"], false), (["DISPLAY": ":9", "SSH_ASKPASS": ""], false),
  ])
  func `SSH_ASKPASS is asked by ssh's own rules`(variables: [String: String], isAsked: Bool) throws {
    let home = try home()
    home.environment["SSH_ASKPASS"] = try program(home, body: "cat \(home.path)/pass")
    let answer = try home.coffer("vault list", with: variables)
    #expect(answer.status == (isAsked ? 0 : 69), "\(answer.err)")
    #expect(home.exists("asked") == isAsked)
  }

  @Test(arguments: ["prefer", "force"])
  func `at a terminal the terminal asks, unless the program is preferred`(rule: String) throws {
    let home = try home()
    home.environment["COFFER_ASKPASS"] = try program(home, body: "cat \(home.path)/pass")
    let terminal = try PseudoTerminal()
    let child = try terminal.coffer("vault list --no-agent", in: home)
    terminal.shows("Passphrase of")
    terminal.type("\u{3}")
    #expect(try child.wait() == 130)
    #expect(!home.exists("asked"))
    home.environment["SSH_ASKPASS_REQUIRE"] = rule
    let other = try PseudoTerminal()
    let second = try other.coffer("vault list --no-agent", in: home)
    #expect(try second.wait() == 0)
    #expect(home.exists("asked") && !other.shown.contains("Passphrase"))
  }

  @Test
  func `SIGINT ends the program and all that it started, and the command with 130`() throws {
    let home = try home()
    let askpass = try program(home, body: "sleep 1000 &\necho $$ $! > \(home.path)/processes\nwait")
    home.environment["COFFER_ASKPASS"] = askpass
    let null = ["/dev/null", home.path + "/out", home.path + "/err"]
    let child = try Child(
      ["vault", "list"], environment: home.environment,
      opening: [0: (null[0], O_RDONLY), 1: (null[1], O_WRONLY | O_CREAT), 2: (null[2], O_WRONLY | O_CREAT)])
    #expect(eventually { home.exists("processes") && (try? home.content("processes").contains("\n")) == true })
    kill(child.id, SIGINT)
    #expect(try child.wait() == 130)
    for process in try home.content("processes").split(whereSeparator: \.isWhitespace).compactMap({ pid_t($0) }) {
      #expect(eventually { hasEnded(process) })
    }
  }

  @Test
  func `what SIGKILL leaves of the command does not leave the program that asks, nor what that started`() throws {
    let home = try home()
    home.environment["COFFER_ASKPASS"] = try program(
      home,
      body: "sleep 1000 &\necho $$ $! > \(home.path)/processes.new\nmv \(home.path)/processes.new \(home.path)/processes\nwait")
    let null = ["/dev/null", home.path + "/out", home.path + "/err"]
    let child = try Child(
      ["vault", "list"], environment: home.environment,
      opening: [0: (null[0], O_RDONLY), 1: (null[1], O_WRONLY | O_CREAT), 2: (null[2], O_WRONLY | O_CREAT)])
    #expect(eventually { home.exists("processes") })
    kill(child.id, SIGKILL)
    #expect(try child.wait() == 128 + SIGKILL)
    for process in try home.content("processes").split(whereSeparator: \.isWhitespace).compactMap({ pid_t($0) }) {
      #expect(eventually { hasEnded(process) })
    }
  }

  @Test
  func `a program that hangs is ended when its time is over`() throws {
    let home = try home()
    var askpass = Askpass(try program(home, body: "trap '' TERM\necho $$ > \(home.path)/process\nwhile :; do sleep 0.1; done"))
    askpass.patience = .seconds(3)
    let failure = #expect(throws: Failure.self) { _ = try askpass.secret(Question("Passphrase")).count }
    #expect(failure?.status == .locked && failure?.what.contains("it did not answer within") == true)
    let process = try #require(pid_t(try home.content("process").trimmingCharacters(in: .newlines)))
    #expect(eventually { hasEnded(process) })
  }

  @Test
  func `pinentry is spoken to in its protocol: the answer is unescaped, and a remark is its error`() throws {
    let home = try home()
    let talk = """
      echo OK ready
      while read -r line; do
        echo "$line" >> \(home.path)/said
        case "$line" in
          GETPIN) if [ -e \(home.path)/once ]; then echo 'S PASSWORD_FROM_CACHE'; echo 'D plum 100%25 sofa'; echo 'D  kit%C3%A9'; echo OK
            else touch \(home.path)/once; echo 'D wrong'; echo OK; fi;;
          SETTIMEOUT*) echo 'ERR 536871187 Unknown IPC command';;
          BYE) echo OK; exit 0;;
          *) echo OK;;
        esac
      done
      """
    home.environment["COFFER_ASKPASS"] = try program(home, "pinentry-test", body: talk)
    try home.transcript("helper git get", in: "protocol=https\nhost=exämple.com\n")
    let said = try home.content("said")
    #expect(said.contains("SETDESC git wants the password of https://ex%C3%A4mple.com.%0APassphrase of \(home.path)/data"))
    #expect(said.contains("SETERROR Wrong passphrase. Try again (2 left).\n") && said.contains("SETPROMPT Passphrase:\n"))
    home.environment["COFFER_ASKPASS"] = try program(
      home, "pinentry-test",
      body: "echo OK\nwhile read -r line; do [ \"$line\" = GETPIN ] && echo 'ERR 83886179 Operation cancelled' || echo OK; done")
    try home.transcript("vault list --no-agent", err: "gave no passphrase: 83886179 Operation cancelled", exit: 69)
    home.environment["COFFER_ASKPASS"] = try program(home, "pinentry-test", body: "echo OK")
    try home.transcript("vault list --no-agent", err: "gave no passphrase: it ended", exit: 69)
  }

  @Test
  func `the real pinentry of a terminal unlocks the vault`() throws {
    let home = try home()
    guard access("/usr/bin/pinentry-tty", X_OK) == 0 else { try Test.skip(without: "pinentry-tty") }
    home.environment.merge(["COFFER_ASKPASS": "pinentry-tty", "SSH_ASKPASS_REQUIRE": "force", "TERM": "dumb"]) { $1 }
    let terminal = try PseudoTerminal()
    let child = try terminal.coffer("vault list --no-agent", in: home)
    terminal.shows("Passphrase of \(home.path)")
    terminal.shows("Passphrase:")
    terminal.type(passphrase + "\n")
    #expect(try child.wait() == 0)
    #expect(!terminal.shown.contains("plum"))
  }

  @Test
  func `systemd-ask-password is asked with an end to its own patience`() throws {
    let home = try home()
    home.environment["COFFER_ASKPASS"] = try program(home, "systemd-ask-password", body: "cat \(home.path)/pass")
    try home.transcript("vault list")
    #expect(try home.content("asked").hasPrefix("--id=coffer:passphrase --timeout=120 Passphrase of \(home.path)"))
  }

  @Test
  func `a service of systemd that is asked for leaves nothing in an agent`() throws {
    let home = try home()
    home.environment["COFFER_ASKPASS"] = try program(home, body: "cat \(home.path)/pass")
    home.environment["INVOCATION_ID"] = "00112233445566778899aabbccddeeff"
    try home.transcript("vault list")
    #expect(home.exists("asked") && !home.exists("run/agent.sock"))
  }

  @Test
  func `git's GIT_TERMINAL_PROMPT=0 leaves the program to be asked`() throws {
    let home = try home()
    home.environment["COFFER_ASKPASS"] = try program(home, body: "cat \(home.path)/pass")
    home.environment["GIT_TERMINAL_PROMPT"] = "0"
    try home.transcript("helper git get", in: "protocol=https\nhost=example.com\n")
    #expect(home.exists("asked"))
  }
}
