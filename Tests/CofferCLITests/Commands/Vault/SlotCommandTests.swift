import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI

@Suite(.tags(.process), .defaultRun)
struct SlotCommandTests {
  private func slots(_ home: Home, _ unlocking: String = "") throws -> [[String: Any]] {
    let answer = try home.coffer("vault slot list --json \(unlocking)")
    #expect(answer.status == 0, "\(answer.err)")
    return try #require(JSONSerialization.jsonObject(with: answer.bytes) as? [[String: Any]])
  }

  private func epoch(_ home: Home) throws -> Int {
    let status = try JSONSerialization.jsonObject(with: home.coffer("status --details --json").bytes) as? [String: Any]
    return try #require(status?["epoch"] as? Int)
  }

  @Test
  func `a key file slot is added, listed, labelled and removed; the file of a removed slot opens nothing`() throws {
    let home = try Home.withVault()
    try home.transcript("vault set a", in: "hush")
    try home.transcript("vault slot add --label laptop --new-key-file \(home.path)/two", err: "opened by key file")
    #expect(try home.content("two").wholeMatch(of: /PVKEY1-[0-9a-f]{72}\n/) != nil && home.mode("two") == 0o600)
    try home.transcript("vault get a --key-file \(home.path)/two", out: "hush")
    #expect(try slots(home).map { $0["label"] as? String ?? "" }.sorted() == ["", "laptop"])
    let list = try home.coffer("vault slot list")
    #expect(list.out.split(separator: "\n").count == 2 && list.out.contains("key file *"))
    try home.transcript("vault slot label laptop desktop")
    try home.transcript("vault slot label laptop x", err: "the vault has no such slot", exit: 1)
    try home.transcript("vault slot remove desktop", err: "there is no terminal to ask at", exit: 64)
    #expect(try epoch(home) == 1)
    try home.changesKey("vault slot remove desktop --yes", "the vault has a new key, sealed to 1 slot\n")
    #expect(try epoch(home) == 2)
    #expect(try home.coffer("vault get a --key-file \(home.path)/two").status == 77)
    try home.transcript("vault get a", out: "hush")
    #expect(try home.coffer("vault verify").status == 0)
    let id = try #require(try slots(home).first?["id"] as? String)
    try home.transcript("vault slot remove \(id.prefix(6)) --yes", err: "this is the last slot", exit: 77)
  }

  @Test(arguments: ["vault rotate", "vault slot remove old"])
  func `where a person was shown the slots, one that was added meanwhile refuses the change`(line: String) throws {
    let home = try Home.withVault()
    try home.transcript("vault slot add -q --label old --new-key-file \(home.path)/old")
    let terminal = try PseudoTerminal()
    let child = try terminal.coffer(line, in: home)
    terminal.shows("press Enter to continue: ")
    try home.transcript("vault slot add -q --label new --new-key-file \(home.path)/new")
    terminal.type("\n")
    terminal.shows("slot was added meanwhile")
    terminal.showsAll()
    #expect(try child.wait() == 75)
    #expect(try epoch(home) == 1)
    for key in ["old", "new"] { #expect(try home.coffer("vault list --key-file \(home.path)/\(key)").status == 0) }
  }

  @Test
  func `a recovery code is printed once and opens however it is typed`() throws {
    let home = try Home.withVault()
    try home.transcript("vault set a", in: "hush")
    let added = try home.coffer("vault slot add --recovery-code --label safe")
    let code = added.out.trimmingCharacters(in: .newlines)
    #expect(code.wholeMatch(of: /([0-9A-HJKMNP-TV-Z]{4}-){8}[0-9A-HJKMNP-TV-Z]{2}/) != nil)
    #expect(added.err.contains("it is not shown again"))
    home.locked()
    for typed in [code + "\n", code.lowercased(), code.replacing("-", with: " ").replacing("0", with: "O") + "\r\n"] {
      try home.transcript("vault get a --recovery-file \(try home.file("code", typed))", out: "hush")
    }
    // A symbol of the check, whose change is always detected: one code in 1024 hides another's.
    let wrong = String(code.dropLast()) + (code.hasSuffix("7") ? "8" : "7")
    try home.transcript("vault get a --recovery-file \(try home.file("code", wrong))", err: "wrong or missing symbol", exit: 77)
  }

  @Test
  func `init can make a recovery code as well`() throws {
    let home = try Home()
    let answer = try home.coffer("init --json --recovery-code --new-key-file \(home.path)/key")
    let made = try #require(JSONSerialization.jsonObject(with: answer.bytes) as? [String: String])
    let code = try home.file("code", try #require(made["recoveryCode"]))
    #expect(made["id"]?.count == 32)
    try home.transcript("vault list --recovery-file \(code)")
    #expect(try slots(home, "--recovery-file \(code)").contains { $0["opens"] as? String == "recovery code" })
  }

  @Test
  func `an identity's public key lets its holder in, with the invitation that adding it prints`() throws {
    let home = try Home.withVault()
    try home.transcript("vault set a", in: "hush")
    let made = try home.coffer("vault identity \(home.path)/me --new")
    let recipient = made.out.trimmingCharacters(in: .newlines)
    #expect(recipient.wholeMatch(of: /PVPUB1-[0-9a-f]{72}/) != nil && home.mode("me") == 0o600)
    #expect(try home.content("me").wholeMatch(of: /PVID1-[0-9a-f]{72}\n/) != nil)
    try home.transcript("vault identity \(home.path)/me", out: recipient + "\n")
    try home.transcript("vault identity \(home.path)/me --new", err: "the file already exists", exit: 73)
    let added = try home.coffer("vault slot add --recipient \(recipient)")
    let invitation = added.out.trimmingCharacters(in: .newlines)
    #expect(invitation.wholeMatch(of: /PVINV1-[0-9a-f]{120}/) != nil && added.err.contains("coffer vault join"))
    home.locked()
    try home.transcript("vault get a --identity \(home.path)/me", with: ["COFFER_EXPECT_VAULT": invitation], out: "hush")
    try home.transcript("vault get a", with: ["COFFER_IDENTITY": home.path + "/me"], out: "hush")
    #expect(try home.coffer("vault identity \(home.path)/you --new").out != made.out)
    #expect(try home.coffer("vault get a --identity \(home.path)/you").status == 77)
    try home.transcript(
      "vault slot add --recipient \(recipient.dropLast())", err: "--recipient: this is not a recipient", exit: 64)
  }

  @Test
  func `what would make two kinds of slot at once is refused`() throws {
    let home = try Home.withVault()
    try home.transcript(
      "vault slot add --recovery-code --new-key-file \(home.path)/x", err: "give one of --recovery-code, --recipient", exit: 64)
    try home.transcript("vault slot add", err: "there is no terminal to ask at", exit: 69)
    try home.transcript("vault slot add --new-key-file \(home.path)/key", err: "already opens the vault; no slot was added")
    let other = try home.file("other", "no key file")
    try home.transcript("vault slot add --new-key-file \(other)", err: "the file already exists", exit: 73)
    let long = String(repeating: "x", count: 65)
    try home.transcript("vault slot add --label \(long) --new-key-file \(home.path)/two", err: "label has 65 bytes", exit: 64)
    #expect(!home.exists("two"), "a key file that opens nothing is not left behind")
  }

  @Test
  func `rotate seals to all slots or to those named, and asks first`() throws {
    let home = try Home.withVault()
    try home.transcript("vault set a", in: "hush")
    try home.transcript("vault slot add --quiet --label two --new-key-file \(home.path)/two")
    try home.transcript("vault slot add --quiet --label three --new-key-file \(home.path)/three")
    try home.transcript("vault rotate", err: "(key file)", exit: 64)
    #expect(try !home.coffer("vault rotate").err.contains("\\n"))
    try home.changesKey("vault rotate --yes", "sealed to 3 slots")
    try home.transcript("vault get a --key-file \(home.path)/two", out: "hush")
    let id = try #require(try slots(home).first { $0["inUse"] as? Bool == true }?["id"] as? String)
    let answer = try home.coffer("vault rotate --json --yes --only \(id.prefix(8)) two")
    let json = try #require(JSONSerialization.jsonObject(with: answer.bytes) as? [String: Any])
    #expect((json["slots"] as? [Any])?.count == 2 && (json["invitation"] as? String)?.hasPrefix("PVINV1-") == true)
    #expect((json["removed"] as? [[String: Any]])?.first?["label"] as? String == "three")
    #expect(try home.coffer("vault get a --key-file \(home.path)/three").status == 77)
    try home.transcript("vault rotate --yes --only nobody", err: "the vault has no such slot", exit: 1)
    #expect(try epoch(home) == 3)
  }

  @Test
  func `at a terminal rotate numbers the slots, removes those whose number is given, and goes on at Enter`() throws {
    let home = try Home.withVault()
    try home.transcript("vault slot add -q --label old --new-key-file \(home.path)/old")
    let terminal = try PseudoTerminal((80, 24))
    let stopped = try terminal.coffer("vault rotate", in: home)
    terminal.shows("These will still open the vault after the key change:")
    terminal.shows("you, now")
    terminal.shows("press Enter to continue: ")
    terminal.type("\u{3}")
    #expect(try stopped.wait() == 130)
    #expect(try epoch(home) == 1)
    let other = try PseudoTerminal((80, 24))
    let agreed = try other.coffer("vault rotate", in: home)
    let own = try slots(home).firstIndex { $0["inUse"] as? Bool == true }.map { $0 + 1 } ?? 0
    for (number, said) in [(own, "must stay"), (9, "a number from 1 to 2"), (3 - own, "These will still open")] {
      other.shows("press Enter to continue: ")
      other.type("\(number)\n")
      other.shows(said)
    }
    other.shows("press Enter to continue: ")
    other.type("\n")
    other.showsAll()
    #expect(try agreed.wait() == 0)
    #expect(try epoch(home) == 2 && slots(home).count == 1)
    #expect(!other.shown.contains("PVINV1-"), "nobody joins this vault")
    #expect(try home.coffer("vault list --key-file \(home.path)/old").status == 77)
  }

  @Test(.tags(.process), .wholeRun)
  func `the passphrase changes with the old one or a recovery code, and the old one opens nothing`() throws {
    let (home, spoken) = try Home.withPassphrase("correct horse")
    let old = try home.file("old", "correct horse\n")
    let new = try home.file("new", "battery staple\n")
    let code = try home.file("code", spoken)
    try home.transcript("vault set a --passphrase-file \(old)", in: "hush")
    try home.changesKey("vault passphrase --passphrase-file \(old) --new-passphrase-file \(new)", "a new key, sealed to 2 slots")
    #expect(try home.coffer("vault get a --passphrase-file \(old)").status == 77)
    try home.transcript("vault get a --passphrase-file \(new)", out: "hush")
    try home.transcript("vault get a --recovery-file \(code)", out: "hush")
    home.environment["COFFER_PASSPHRASE_FILE"] = new
    #expect(try epoch(home) == 2)
    let printed = try #require(try slots(home).first { $0["opens"] as? String == "recovery code" }?["id"] as? String)
    try home.transcript(
      "vault passphrase --recovery-file \(code) --slot \(printed) --new-passphrase-file \(old)", err: "the slot has no", exit: 77)
    let slot = try #require(try slots(home).first { $0["opens"] as? String == "passphrase" })
    #expect((slot["passes"] as? Int ?? 0) >= 3 && (slot["mebibytes"] as? Int ?? 0) >= 64)
    let id = try #require(slot["id"] as? String)
    let kept = try home.coffer("vault passphrase --keep-key --recovery-file \(code) --slot \(id) --new-passphrase-file \(old)")
    #expect(kept.status == 0 && kept.err.contains("but not the vault's key"), "\(kept)")
    #expect(kept.out.isEmpty && !kept.err.contains("invitation"), "\(kept)")
    home.environment["COFFER_PASSPHRASE_FILE"] = old
    try home.transcript("vault get a", out: "hush")
    #expect(try epoch(home) == 2)
    #expect(home.mode("run/argon2.lock") == 0o600 && home.mode("run") == 0o700)
    try home.transcript(
      "vault passphrase --passphrase-file - --new-passphrase-file -", in: "x", err: "cannot both come from standard input",
      exit: 64)
  }

  @Test(.tags(.process), .wholeRun)
  func `at a terminal the new passphrase is asked for twice and never shown`() throws {
    let (home, _) = try Home.withPassphrase("correct horse")
    let terminal = try PseudoTerminal()
    let child = try terminal.coffer("vault passphrase", in: home)
    terminal.shows("Passphrase of \(home.path)/data/vault.sqlite: ")
    terminal.type("correct horse\n")
    terminal.shows("New passphrase: ")
    terminal.type("plum sofa kite unit\n")
    terminal.shows("Repeat: ")
    terminal.type("plum sofa kite unit\n")
    terminal.shows("OK new passphrase; the recovery code still works\r\n")
    #expect(try child.wait() == 0)
    #expect(!terminal.shown.contains("plum") && !terminal.shown.contains("horse"))
    try home.transcript("vault list --passphrase-file \(try home.file("new", "plum sofa kite unit"))")
  }

  @Test(.tags(.process), .wholeRun)
  func `a slot of a passphrase and a key file keeps its key file when the passphrase changes`() throws {
    let home = try Home.withVault()
    let pass = try home.file("pass", "correct horse")
    let next = try home.file("next", "battery staple")
    let key = home.path + "/two"
    try home.transcript(
      "vault slot add --new-passphrase-file \(pass) --new-key-file \(key)", err: "opened by passphrase and key file")
    home.locked()
    try home.changesKey("vault passphrase --passphrase-file \(pass) --key-file \(key) --new-passphrase-file \(next) --quiet", "")
    #expect(try home.coffer("vault list --passphrase-file \(pass) --key-file \(key)").status == 77)
    try home.transcript("vault list --passphrase-file \(next) --key-file \(key)")
    #expect(try home.coffer("vault list --passphrase-file \(next)").status == 77)
  }
}
