import Coffer
import CofferTestSupport
import CofferVault
import Foundation
import Testing

@testable import CofferCLI

@Suite(.tags(.process), .defaultRun)
struct RestoreCommandTests {
  private func removed() throws -> Home {
    let home = try Home.withVault()
    try home.transcript("vault set a", in: "old")
    try home.transcript("vault slot add --quiet --label two --new-key-file \(home.path)/two")
    try home.transcript("backup --quiet \(home.path)/backup")
    try home.changesKey("vault slot remove two --yes")
    try home.transcript("vault set a", in: "new")
    return home
  }

  @Test
  func `a terminal is asked whether the slots of an older header shall come back by a repair`() throws {
    let home = try Home.withVault()
    try home.transcript("vault set a", in: "1")
    try home.transcript("vault slot add --quiet --label two --new-key-file \(home.path)/two")
    try home.attack("PRAGMA wal_checkpoint(TRUNCATE)")
    let older = try Data(contentsOf: URL(fileURLWithPath: home.vault))
    try home.changesKey("vault slot remove two --yes")
    for side in ["-wal", "-shm"] { unlink(home.vault + side) }
    try older.write(to: URL(fileURLWithPath: home.vault))
    try home.attack("UPDATE state SET bytes = randomblob(300)")
    for (answer, status) in [("n", 66), ("y", 0)] as [(String, Int32)] {
      let terminal = try PseudoTerminal()
      let repair = try terminal.coffer("vault repair", in: home)
      terminal.shows("Let all of them open it again? [y/N] ")
      #expect(terminal.shown.contains("two\r\n"))
      terminal.type(answer + "\n")
      #expect(try repair.wait() == status, "\(terminal.shown)")
    }
    try home.transcript("vault get a --key-file \(home.path)/two", out: "1")
  }

  private func files(_ home: Home) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: home.path + "/data").filter {
      !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm")
    }
  }

  @Test
  func `what the environment names opens the present vault where an option opens the backup, and nobody comes back`() throws {
    let home = try removed()
    let answer = try home.coffer("restore \(home.path)/backup --key-file \(home.path)/two --json")
    let json = try #require(JSONSerialization.jsonObject(with: answer.bytes) as? [String: Any], "\(answer.err)")
    #expect(answer.status == 0 && json["returnedSlots"] == nil)
    try home.transcript("vault get a", out: "old")
    #expect(try home.coffer("vault get a --key-file \(home.path)/two").status == 77)
  }

  @Test
  func `the backup's slots come back only when told so, are named, and a refusal leaves all as it was`() throws {
    let home = try removed()
    home.locked()
    let line = "restore \(home.path)/backup --key-file \(home.path)/two"
    let before = try files(home)
    try home.transcript(line, err: "to go back on purpose, --older-key", exit: 66)
    try home.transcript(line + " --yes --json", err: #""kind":"rolledBack""#, exit: 66)
    #expect(try files(home) == before)
    try home.transcript("vault get a --key-file \(home.path)/key", out: "new")
    let restored = try home.coffer(line + " --older-key")
    #expect(restored.status == 0, "\(restored.err)")
    let lines = restored.out.split(separator: "\n")
    #expect(lines.filter { $0.hasPrefix("opens it again: key file ") }.count == 2 && lines.contains { $0.hasSuffix(" two") })
    #expect(lines.last == "change the key now: coffer vault rotate --only SLOT ..., with the slots to keep")
    try home.transcript("vault get a --key-file \(home.path)/two", out: "old")
    try home.transcript("vault get a --key-file \(home.path)/key", out: "old")
  }

  @Test func `a terminal is asked before a backup takes the place of what is there`() throws {
    let home = try Home.withVault()
    try home.transcript("vault set a", in: "1")
    try home.transcript("backup --quiet \(home.path)/backup")
    try home.transcript("vault set a -q", in: "2")
    for (option, answer, status, value) in [("--quiet", "n\n", Int32(77), "2"), ("", "n\n", 77, "2"), ("", "y\n", 0, "1")] {
      let terminal = try PseudoTerminal()
      let child = try terminal.coffer("restore \(option) \(home.path)/backup", in: home)
      let shown = terminal.shows("[y/N] ")
      #expect(shown.contains("vault.sqlite (last written just now) with this backup of "), "\(shown)")
      #expect(shown.contains(/of \d+ [A-Z][a-z]+ \d\d:\d\d\?/), "\(shown)")
      terminal.type(answer)
      terminal.showsAll()
      #expect(try child.wait() == status)
      try home.transcript("vault get a", out: value)
    }
    let other = try Home()
    other.environment["COFFER_KEY_FILE"] = home.path + "/key"
    let terminal = try PseudoTerminal()
    let child = try terminal.coffer("restore \(home.path)/backup", in: other)
    terminal.showsAll()
    #expect(try child.wait() == 0 && !terminal.shown.contains("in the place of"))
  }

  @Test
  func `a terminal is asked for the present passphrase, and then whether the backup's slots shall come back`() throws {
    let home = try Home()
    let (old, new) = (try home.file("old", "correct horse"), try home.file("new", "battery staple"))
    // At the least cost: it is hashed two dozen times.
    let places = Places(home: FilePath(home.path))
    let vault = try UnlockedVault.create(
      at: places.vault, with: Credentials(passphrase: Home.secret("correct horse")), cost: .testing, options: places.vaultOptions)
    try vault.set(Home.secret("1"), for: ItemName(service: "a"))
    try home.transcript("backup --quiet \(home.path)/backup")
    try vault.changePassphrase(to: Credentials(passphrase: Home.secret("battery staple")), cost: .testing)
    _ = try vault.lock()
    let line = "restore --yes \(home.path)/backup --passphrase-file \(old)"
    let asked = "which the backup's does not open (Enter if there is none): "
    let no = try PseudoTerminal()
    let refused = try no.coffer(line, in: home)
    no.shows(asked)
    no.type("\n")
    no.shows("Let all of them open it again? [y/N] ")
    #expect(no.shown.contains("passphrase"))
    no.type("n\n")
    #expect(try refused.wait() == 66)
    let present = try PseudoTerminal()
    let kept = try present.coffer(line, in: home)
    present.shows(asked)
    #expect(!present.echoes)
    present.type("battery staple\n")
    #expect(try kept.wait() == 0)
    #expect(try home.coffer("vault get a --passphrase-file \(old)").status == 77)
    try home.transcript("vault get a --passphrase-file \(new)", out: "1")
    let yes = try PseudoTerminal()
    let returned = try yes.coffer(line, in: home)
    yes.shows(asked)
    yes.type("wrong\n")
    yes.shows("Let all of them open it again? [y/N] ")
    yes.type("y\n")
    yes.shows("opens it again: passphrase ")
    #expect(try returned.wait() == 0)
    try home.transcript("vault get a --passphrase-file \(old)", out: "1")
  }

  @Test
  func `a restore prints the new invitation, and says that the backup is of an older key from now on`() throws {
    let home = try Home.withVault()
    try home.transcript("vault set a", in: "old")
    let (guest, recipient) = try Home.withIdentity()
    try home.changesKey("vault slot add --recipient \(recipient)")
    try home.transcript("backup --quiet \(home.path)/backup")
    let answer = try home.coffer("restore \(home.path)/backup")
    #expect(answer.status == 0 && answer.err.contains("make a new one: coffer backup FILE"), "\(answer)")
    #expect(answer.err.contains("restored 1 item ") || answer.out.contains("restored 1 item "), "\(answer)")
    let invitation = String(answer.out.split(separator: "\n").last ?? "")
    try home.transcript("vault invite", out: invitation + "\n")
    #expect(try guest.coffer("vault join \(home.vault) \(invitation)").status == 0)
    let json = try home.coffer("restore \(home.path)/backup --json")
    let object = try #require(JSONSerialization.jsonObject(with: json.bytes) as? [String: Any], "\(json.err)")
    let printed = try #require(object["invitation"] as? String)
    #expect(printed.hasPrefix("PVINV1-") && printed != invitation && object["restored"] != nil)
  }

  @Test
  func `today's passphrase does not open an older backup, and the message says which secret does`() throws {
    let home = try Home()
    let (old, new) = (try home.file("old", "correct horse"), try home.file("new", "battery staple"))
    let places = Places(home: FilePath(home.path))
    let vault = try UnlockedVault.create(
      at: places.vault, with: Credentials(passphrase: Home.secret("correct horse")), cost: .testing, options: places.vaultOptions)
    try home.transcript("backup --quiet \(home.path)/backup")
    try vault.changePassphrase(to: Credentials(passphrase: Home.secret("battery staple")), cost: .testing)
    _ = try vault.lock()
    let refused = try home.coffer("restore \(home.path)/backup --passphrase-file \(new)")
    #expect(refused.status == 77 && refused.err.contains("(\(home.path)/backup)"), "\(refused.err)")
    #expect(refused.err.contains("it needs one from the time of the backup: passphrase"), "\(refused.err)")
    #expect(refused.err.contains("give it with --passphrase-file or a similar option"), "\(refused.err)")
    #expect(!refused.err.contains("restore the vault from a backup"), "\(refused.err)")
    home.environment["COFFER_PASSPHRASE_FILE"] = new
    #expect(try home.coffer("restore \(home.path)/backup --passphrase-file \(old)").status == 0)
    #expect(try home.coffer("vault list").status == 0)
  }
}
