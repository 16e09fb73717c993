import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI

/// With the vault held by the agent, commands that do not need its key have no prompt.
@Suite(.tags(.process), .defaultRun)
struct HeldVaultTests {
  private func unlockedHome() throws -> Home {
    let home = try Home.withVault()
    try home.transcript("vault set web ada --label Mail --quiet", in: "p4ss")
    try home.transcript("vault set web ada --field pin --quiet", in: "1234")
    try home.transcript("unlock --quiet")
    home.locked()
    return home
  }

  @Test
  func `log, status, verify and the slots come from the agent as they come from the vault`() throws {
    let home = try unlockedHome()
    let key = "--key-file \(home.path)/key"
    // First a command that opens the vault here, and leaves no other entry in the log.
    for line in ["vault log --json", "vault log --limit 2", "vault slot list", "vault slot list --json", "vault verify"] {
      try home.transcript(line, out: home.coffer("\(line) \(key)").out)
    }
    let (own, held) = (try home.coffer("status --details \(key)"), try home.coffer("status --details"))
    #expect(held.status == 0, "\(held.err)")
    let lines = { (text: String) in text.split(separator: "\n").filter { !$0.hasPrefix("pin") && !$0.hasPrefix("memory") } }
    #expect(lines(held.out) == lines(own.out) && !held.out.isEmpty)
    let json = try home.coffer("status --details --json")
    #expect(json.out.contains("\"lockedBytes\":") && json.out.contains("\"items\":1"))
  }

  @Test
  func `an export comes from the agent, to a vault, as JSON and as an environment file`() throws {
    let home = try unlockedHome()
    let key = "--key-file \(home.path)/key"
    try home.transcript("export --reveal", out: home.coffer("export --reveal \(key)").out)
    #expect(try home.coffer("export --reveal").out.contains("p4ss"))
    try home.transcript("export --reveal --format env --service web", out: "ada='p4ss'\n")
    chmod(home.path, 0o700)
    try home.transcript(
      "export \(home.path)/out --new-key-file \(home.path)/outkey", err: "exported 1 item to the new vault \(home.path)/out")
    let other = "--vault \(home.path)/out --key-file \(home.path)/outkey"
    try home.transcript("vault get web ada --field pin --quiet \(other)", out: "1234")
  }

  @Test
  func `an import goes to the agent, and its entries in the log are of the command`() throws {
    let home = try unlockedHome()
    let file = try home.file("app.env", "A=1\nB=2\n")
    try home.transcript(
      "import --from env --service app \(file) --dry-run", out: "added  app  A\nadded  app  B\n",
      err: "nothing was changed (--dry-run)")
    try home.transcript("import --from env --service app \(file)", out: "added  app  A\nadded  app  B\n")
    try home.transcript(
      "import --from env --service app \(file)", err: "2 items already exist; nothing was imported", exit: 73)
    try home.transcript(
      "import --from env --service app \(file) --on-duplicate replace --json",
      out: #"{"added":[],"kept":[{"account":"A","service":"app"},{"account":"B","service":"app"}],"replaced":[]}"# + "\n")
    try home.transcript("vault get app B", out: "2")
    #expect(try home.coffer("vault log --limit 1").out.contains("\tcoffer\t"))
  }

  @Test
  func `who may open the vault is changed by its secret alone`() throws {
    let home = try unlockedHome()
    for line in ["rotate --yes", "slot add --recovery-code", "slot label a b", "slot remove a --yes", "passphrase", "pin accept"]
    {
      try home.transcript("vault \(line)", err: "there is nothing to unlock it with", exit: 69)
    }
  }

  @Test
  func `a vault that an option names stays open in the agent beside the usual one`() throws {
    let home = try unlockedHome()
    chmod(home.path, 0o700)
    let work = "\(home.path)/work.vault"
    try home.transcript("init --vault \(work) --quiet --new-key-file \(home.path)/workkey")
    try home.transcript("vault use work \(work) --quiet")
    try home.transcript("vault set job --vault work --quiet --key-file \(home.path)/workkey", in: "w0rk")
    try home.transcript("vault get job --vault work", err: "there is nothing to unlock it with", exit: 69)
    try home.transcript("unlock --vault work --quiet --idle 40m --key-file \(home.path)/workkey")
    for _ in 0..<2 {
      try home.transcript("vault get job --vault work", out: "w0rk")
      try home.transcript("vault get web", out: "p4ss")
    }
    let said = try home.coffer("status --agent").out
    #expect(said.contains("\nalso     \(work); locks after"))
    let others = try home.coffer("status --agent --json --vault work").out
    #expect(others.contains(#""others":[{"idleLeft":"#) && others.contains("data/vault.sqlite"))
    try home.transcript("lock --vault work")
    try home.transcript("vault get job --vault work", err: "there is nothing to unlock it with", exit: 69)
    try home.transcript("vault get web", out: "p4ss")
    try home.transcript("unlock --vault work --quiet --key-file \(home.path)/workkey")
    try home.transcript("lock")
    for line in ["get web", "get job --vault work"] {
      try home.transcript("vault \(line)", err: "there is nothing to unlock it with", exit: 69)
    }
  }

  @Test
  func `a passphrase that is typed for a named vault is typed once`() throws {
    let (home, _) = try Home.withPassphrase("plum sofa kite unit")
    let vault = "\(home.path)/data/vault.sqlite"
    home.environment["COFFER_HOME"] = nil
    home.environment["HOME"] = home.path
    home.environment["XDG_RUNTIME_DIR"] = home.path + "/run"
    try FileManager.default.createDirectory(
      atPath: home.path + "/run", withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    defer { _ = try? home.coffer("agent stop") }
    let terminal = try PseudoTerminal()
    let child = try terminal.coffer("vault log --limit 1 --vault \(vault)", in: home)
    terminal.shows("Passphrase of")
    terminal.type("plum sofa kite unit\n")
    terminal.showsAll()
    #expect(try child.wait() == 0)
    #expect(try home.coffer("vault log --limit 1 --vault \(vault)").status == 0)
  }
}
