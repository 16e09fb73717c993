import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI

/// A typed passphrase also opens the vault for the next command, and has three tries.
@Suite(.tags(.process), .wholeRun)
struct AskedOnceTests {
  private let passphrase = "plum sofa kite unit"

  private func home() throws -> Home {
    let (home, code) = try Home.withPassphrase(passphrase)
    _ = try home.file("value", "tok3n")
    try home.transcript("vault set github ada --recovery-file \(home.file("code", code)) --file \(home.path)/value")
    return home
  }

  private func answer(_ line: String, _ home: Home, _ typed: [(prompt: String, text: String)]) throws -> (Int32, String) {
    let terminal = try PseudoTerminal()
    let child = try terminal.coffer(line, in: home)
    for (prompt, text) in typed {
      terminal.shows(prompt)
      terminal.type(text)
    }
    terminal.showsAll()
    #expect(terminal.echoes && !terminal.shown.contains(passphrase))
    return (try child.wait(), terminal.shown)
  }

  @Test
  func `the first prompt unlocks the agent, and no command asks again`() throws {
    let home = try home()
    let (status, shown) = try answer("vault get github", home, [("Passphrase of", passphrase + "\n")])
    #expect(status == 0 && shown.hasSuffix("tok3n\r\n"))
    try home.transcript("vault get github", out: "tok3n")
    try home.transcript("set token --domain coffer", in: "s")
    try home.transcript("agent stop")
    let answers = [("Passphrase of", passphrase + "\n"), ("Value of the new item other", "v\n"), ("Repeat", "v\n")]
    #expect(try answer("set other", home, answers).0 == 0)
    try home.transcript("get other", out: "v")
    let (again, said) = try answer("unlock", home, [])
    #expect(again == 0 && said.contains("unlocked for all your shells") && !said.contains("Passphrase"))
  }

  @Test(arguments: ["off", "-bool false", "nonsense", "damaged", "--no-agent", "CREDENTIALS_DIRECTORY"])
  func `no agent is started where a setting, an option or a service's place says so`(how: String) throws {
    let home = try home()
    var line = "vault get github"
    if how == "--no-agent" {
      line += " --no-agent"
    } else if how == "CREDENTIALS_DIRECTORY" {
      home.environment[how] = home.path
    } else if how == "damaged" {
      _ = try home.file("config/coffer.settings.plist", "no property list")
    } else {
      try home.transcript("defaults write coffer.settings agent.auto \(how)")
    }
    let (status, shown) = try answer(line, home, [("Passphrase of", passphrase + "\n")])
    #expect(status == 0 && shown.contains("tok3n\r\n"))
    #expect(!home.exists("run/agent.sock"))
    #expect(shown.contains("agent.auto of coffer.settings is not on or off") == (how == "nonsense"))
  }

  @Test
  func `an agent that is started by a prompt has the times of the settings`() throws {
    let home = try home()
    try home.transcript("defaults write coffer.settings agent.idle 50m")
    try home.transcript("defaults write coffer.settings agent.lifetime 2h")
    #expect(try answer("vault get github", home, [("Passphrase of", passphrase + "\n")]).0 == 0)
    #expect(try home.coffer("status --agent").out.contains("limits   50 min without use, 2 h at most"))
  }

  @Test
  func `an agent that cannot be started is told of with the reason, and the vault opens all the same`() throws {
    let home = try home()
    try FileManager.default.createDirectory(atPath: home.path + "/run", withIntermediateDirectories: true)
    chmod(home.path + "/run", 0o777)
    let (status, shown) = try answer("vault get github", home, [("Passphrase of", passphrase + "\n")])
    #expect(status == 0 && shown.contains("tok3n\r\n"))
    #expect(
      shown.contains(
        "the next command asks again: the agent could not be started: mode 0777 gives other users access to the folder"))
    try home.transcript(
      "agent run --detach", err: "the agent could not be started: mode 0777 gives other users access to the folder", exit: 77)
  }

  @Test
  func `a passphrase may be typed three times; a third wrong one is an error in plain words`() throws {
    let home = try home()
    let (status, shown) = try answer(
      "vault get github", home,
      [("Passphrase of", "wrong\n"), ("(2 left).\r\nPassphrase of", "\n"), ("(1 left).\r\nPassphrase of", passphrase + "\n")])
    #expect(status == 0 && shown.contains("\r\nWrong passphrase. Try again (2 left).\r\n"))
    #expect(shown.contains("\r\nNothing was entered. Try again (1 left).\r\n") && shown.hasSuffix("tok3n\r\n"))
    // A command that needs the key itself also prompts three times.
    let (failed, last) = try answer(
      "vault rotate --yes", home,
      [("Passphrase of", "a\n"), ("(2 left).\r\nPassphrase of", "b\n"), ("(1 left).\r\nPassphrase of", "c\n")])
    #expect(failed == 77 && last.contains("\r\nERROR Wrong passphrase ("))
    #expect(last.contains("\r\n  try: coffer recover, if you forgot it. If you are certain it is right, "))
  }

  @Test
  func `the echo stays off between the tries, and what is typed meanwhile is dropped`() throws {
    let home = try home()
    let terminal = try PseudoTerminal()
    let child = try terminal.coffer("vault slot list", in: home)
    var hasEchoed = false
    let look = { if terminal.echoes { hasEchoed = true } }
    terminal.shows("Passphrase of")
    for (left, text) in [("(2 left)", "wrong"), ("(1 left)", "wrong too"), ("SLOT", passphrase)] {
      terminal.type(text + "\n")
      // The first byte after Enter: from now on it is tried.
      terminal.shows(": \r\n", every: look)
      terminal.type("typed ahead\n")
      terminal.shows(left == "SLOT" ? "\r\n" : left, every: left == "SLOT" ? {} : look)
    }
    terminal.showsAll()
    #expect(try child.wait() == 0)
    #expect(!hasEchoed && terminal.echoes && !terminal.shown.contains("ahead") && !terminal.shown.contains(passphrase))
  }

  @Test(arguments: [SIGINT, SIGTERM, SIGHUP, SIGQUIT])
  func `a signal that comes while a passphrase is tried brings the echo back`(signal: Int32) throws {
    let home = try home()
    home.environment["TERM"] = "xterm"
    let terminal = try PseudoTerminal()
    let child = try terminal.coffer("vault slot list", in: home)
    terminal.shows("Passphrase of")
    terminal.type("wrong\n")
    terminal.shows(": \r\n")
    usleep(20_000)  // No event: the answer is being tried.
    kill(child.id, signal)
    #expect([128 + signal, 130].contains(try child.wait()))
    #expect(terminal.echoes)
  }

  @Test(arguments: ["vault get github", "vault slot list", "unlock", "set x", "recover"])
  func `control-C at any of the tries brings the echo back and exits with 130`(line: String) throws {
    let home = try home()
    for tries in 0..<2 {
      let wrong = (0..<tries).map { _ in (": ", "wrong\n") }
      let (status, shown) = try answer(line, home, wrong + [(tries == 0 ? ": " : "left).\r\n", "\u{3}")])
      #expect(status == 130 && !shown.contains("coffer: note"), "\(line): \(shown)")
    }
  }

  @Test
  func `a recovery code opens at the passphrase prompt, and recover sets a passphrase with it`() throws {
    let (home, code) = try Home.withPassphrase(passphrase)
    let (status, shown) = try answer("vault list", home, [("Passphrase of", code.lowercased().replacing("-", with: " ") + "\n")])
    #expect(status == 0 && !shown.contains("Wrong"))
    try home.transcript("agent stop")
    // The last symbol belongs to the check, so any change of it is detected.
    let wrong = String(code.dropLast()) + (code.hasSuffix("7") ? "8" : "7")
    let (recovered, said) = try answer(
      "recover", home,
      [
        ("Recovery code of", wrong + "\n"), ("a wrong or missing symbol. Try again (2 left)", code + "\n"),
        ("New passphrase", "unit kite sofa plum\n"), ("Repeat", "unit kite sofa plum\n"),
      ])
    #expect(recovered == 0 && said.contains("new passphrase; the recovery code still works") && !said.contains("PVINV1-"))
    try home.transcript("agent stop")
    try home.transcript("vault list --passphrase-file \(home.path)/pass", err: "wrong passphrase", exit: 77)
    let next = try home.file("next", "unit kite sofa plum")
    try home.transcript("vault list --passphrase-file \(next)")
    let file = try home.file("code", code)
    // The only slot with a passphrase is meant, whichever slot opened the vault.
    try home.changesKey("vault passphrase --quiet --recovery-file \(file) --new-passphrase-file \(home.path)/pass", "")
    try home.transcript("vault list --passphrase-file \(home.path)/pass")
    try home.transcript("recover", err: "there is no terminal to ask for the recovery code", exit: 69)
    try home.changesKey("recover --quiet --recovery-file \(file) --new-passphrase-file \(next)", "")
    try home.transcript("vault list --passphrase-file \(next)")
  }

  @Test
  func `recover adds a passphrase where no slot has one, asks which where several have, and needs a code`() throws {
    let home = try Home.withVault()
    let file = try home.file("code", home.coffer("vault slot add --recovery-code --quiet").out)
    let pass = try home.file("pass", passphrase)
    home.locked()
    try home.transcript(
      "recover --recovery-file \(file) --new-passphrase-file \(pass)", err: "the new passphrase opens the vault")
    try home.transcript("vault list --passphrase-file \(pass)")
    try home.transcript("vault slot add --quiet --key-file \(home.path)/key --new-passphrase-file \(pass)")
    try home.transcript(
      "recover --recovery-file \(file) --new-passphrase-file \(pass)", err: "2 slots have a passphrase\n  try: name one", exit: 77
    )
    try home.transcript("recover", err: "no terminal", exit: 69)
    try Home.withVault().transcript("recover", err: "for the next time: coffer vault slot add --recovery-code", exit: 77)
  }

  @Test
  func `git asks once, says what for, and never to store; what was stored meanwhile is kept`() throws {
    let home = try home()
    try home.withHelpers()
    let place = "protocol=https\nhost=example.com\n"
    _ = try home.file("get", place)
    _ = try home.file("store", place + "username=ada\npassword=p4ss\n")
    // Locked, and with a terminal: no prompt.
    let terminal = try PseudoTerminal()
    let silent = try #require(
      try terminal.program(["sh", "-c", "coffer helper git store < \(home.path)/store"], in: home))
    terminal.showsAll()
    #expect(try silent.wait() == 0)
    #expect(!terminal.shown.contains("Passphrase") && terminal.shown.contains("git's password was not stored"))
    try home.transcript("helper git store", in: place + "username=ada\npassword=p4ss\n")
    let asking = try PseudoTerminal()
    let child = try #require(try asking.program(["sh", "-c", "coffer helper git get < \(home.path)/get"], in: home))
    asking.shows("git wants the password of https://example.com.\r\nPassphrase of")
    asking.type(passphrase + "\n")
    asking.showsAll()
    #expect(try child.wait() == 0)
    try home.transcript("helper git store", in: place + "username=ada\npassword=p4ss\n")
    try home.transcript("helper git get", in: place, out: "username=ada\npassword=p4ss\n")
  }

  @Test
  func `a real git that gets and stores a password asks once`() throws {
    let home = try home()
    try home.withHelpers()
    let credential = "protocol=https\nhost=example.com\nusername=ada\npassword=p4ss\n"
    try home.transcript("helper git store --passphrase-file \(home.path)/pass", in: credential)
    _ = try home.file("get", "protocol=https\nhost=example.com\n")
    guard access("/usr/bin/git", X_OK) == 0 else { try Test.skip(without: "git") }
    let git = "git -c credential.helper=coffer credential"
    let script = "cd \(home.path) && \(git) fill < get > filled && \(git) approve < filled && \(git) fill < get && echo all-done"
    let terminal = try PseudoTerminal()
    let child = try #require(try terminal.program(["sh", "-c", script], in: home))
    terminal.shows("git wants the password of https://example.com.\r\nPassphrase of")
    terminal.type(passphrase + "\n")
    terminal.showsAll()
    #expect(try child.wait() == 0)
    #expect(terminal.shown.contains("password=p4ss") && terminal.shown.contains("all-done"))
    #expect(terminal.shown.matches(of: /Passphrase of/).count == 1)
  }

  @Test
  func `docker's helper says what it wants the vault for`() throws {
    let home = try home()
    try home.withHelpers()
    _ = try home.file("get", "https://index.docker.io/v1/\n")
    let terminal = try PseudoTerminal()
    let child = try #require(
      try terminal.program(["sh", "-c", "docker-credential-coffer get < \(home.path)/get"], in: home))
    terminal.shows("docker wants the password of https://index.docker.io/v1/.\r\nPassphrase of")
    terminal.type("\u{4}")
    #expect(try child.wait() == 1)
  }

  @Test
  func `unlock's times hold in an agent that runs already, until it locks`() throws {
    let home = try Home.withVault()
    try home.transcript("agent run --detach --quiet --idle 40m")
    try home.transcript("unlock --idle 3m --lifetime 9m", err: "agent: unlocked; locks after")
    #expect(try home.coffer("status --agent").out.contains("limits   3 min without use, 9 min at most"))
    try home.transcript("unlock --quiet")
    #expect(try home.coffer("status --agent").out.contains("limits   40 min without use, 8 h at most"))
    try home.transcript("unlock --idle 1s --quiet")
    #expect(eventually { (try? home.coffer("status --agent").status) == 69 })
  }

  @Test(.tags(.root))
  func `the agent works where no variable names a run folder, in one that is checked`() throws {
    guard access("/run/user/\(geteuid())", F_OK) != 0 else { try Test.skip("this user has a login with a run folder") }
    let home = try Home.withVault()
    home.environment["COFFER_HOME"] = nil
    home.environment.merge(["HOME": home.path, "COFFER_VAULT": home.path + "/data/vault.sqlite"]) { $1 }
    let run = home.path + "/.local/state/coffer/run"
    defer { _ = try? home.coffer("agent stop") }
    try home.transcript("vault set a --quiet", in: "v")
    try home.transcript("unlock --quiet")
    home.locked()
    try home.transcript("vault get a", out: "v")
    #expect(home.mode(".local/state/coffer/run") == 0o700)
    try home.transcript("agent stop")
    try FileManager.default.moveItem(atPath: run, toPath: home.path + "/elsewhere")
    try FileManager.default.createSymbolicLink(atPath: run, withDestinationPath: home.path + "/elsewhere")
    try home.transcript("unlock --key-file \(home.path)/key", err: "the folder is a symbolic link", exit: 77)
    unlink(run)
    try FileManager.default.moveItem(atPath: home.path + "/elsewhere", toPath: run)
    chmod(run, 0o770)
    try home.transcript("unlock --key-file \(home.path)/key", err: "mode 0770 gives other users access to the folder", exit: 77)
    chmod(run, 0o700)
    guard geteuid() == 0 else { return print("not checked: only root can give a folder to another user") }
    chown(run, 65534, 65534)
    try home.transcript("unlock --key-file \(home.path)/key", err: "belongs to user 65534", exit: 77)
    chown(run, 0, 0)
  }

  @Test
  func `a key file beside which a passphrase is not tried is told of, and no key file is called so`() throws {
    let home = try Home.withVault()
    let wrong = try home.file("wrong", "wrong")
    try home.transcript(
      "vault list --key-file \(home.path)/key --passphrase-file \(wrong)", err: "the passphrase was not tried")
    try home.transcript(
      "vault list", with: ["COFFER_KEY_FILE": "/etc/passwd"], err: "the key file was not generated, so it opens no vault alone",
      exit: 77)
  }

  @Test
  func `a slot is named by any beginning of its id that no other has`() throws {
    let home = try Home.withVault()
    let table = try home.coffer("vault slot list").out
    let id = try #require(table.split(separator: "\t").first)
    try home.transcript("vault slot label \(id.prefix(1)) mine")
    try home.transcript("vault slot label mine other")
    try home.transcript("vault slot label g mine", err: "no such slot", exit: 1)
  }

  @Test
  func `a weak passphrase from a file is told of, and refused where an option wants it so`() throws {
    let weak = try Home()
    let file = try weak.file("weak", "abc")
    let line = "init --new-passphrase-file \(file)"
    try weak.transcript(line + " --min-strength 40", err: "the passphrase is easy to guess: characters in sequence", exit: 64)
    #expect(!weak.exists("data"))
    try weak.transcript(line + " --min-strength 257", err: "--min-strength", exit: 64)
    try weak.transcript(line, err: "coffer: note: the passphrase is easy to guess: characters in sequence\n")
    let other = try Home()
    let (status, shown) = try answer(
      "init --min-strength 0", other, [("New passphrase", "abc\n"), ("Repeat", "abc\n"), ("[Y/n]", "n\n")])
    #expect(status == 0 && !shown.contains("easy to guess"))
  }
}
