import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI

/// An agent has a vault open, and a removed member can write its file.
@Suite(.tags(.process), .wholeRun)
struct ForgedKeyTests {
  /// A vault's home with all kinds of slots and their credentials. Its file is the genuine one of epoch 2, or the removed
  /// member's of epoch 3.
  private struct Stage {
    let home: Home
    let openers: [String]
    let genuine: String, forged: String
    /// To the forged one.
    let invitation: String
  }

  /// - Parameter passphrases: whether there are passphrase slots, which cost an Argon2id run each time.
  private func stage(passphrases: Bool) throws -> Stage {
    let home = try Home.withVault()
    try home.transcript("vault set a", in: "genuine")
    let pass = try home.file("pass", "correct horse"), both = try home.file("both", "battery staple")
    if passphrases {
      try home.transcript("vault slot add --quiet --new-passphrase-file \(pass)")
      try home.transcript("vault slot add --quiet --new-passphrase-file \(both) --new-key-file \(home.path)/half")
    }
    let code = try home.file("code", home.coffer("vault slot add --recovery-code").out)
    let made = try home.coffer("vault identity \(home.path)/me --new")
    try home.changesKey("vault slot add --recipient \(made.out.trimmingCharacters(in: .newlines))")
    try home.transcript("vault slot add --quiet --label bob --new-key-file \(home.path)/bob")
    let bob = try Home()
    bob.environment["COFFER_KEY_FILE"] = home.path + "/bob"
    try home.transcript("backup --quiet \(bob.file("data/x")).sqlite")
    chmod(bob.path + "/data", 0o700)
    try FileManager.default.moveItem(atPath: bob.path + "/data/x.sqlite", toPath: bob.vault)
    try home.changesKey("vault slot remove bob --yes --quiet")
    var invitation = ""
    for _ in 0..<2 { invitation = try bob.changesKey("vault rotate --yes --quiet") }
    for value in ["x", "y", "forged"] { try bob.transcript("vault set a", in: value) }
    try home.transcript("backup --quiet \(home.path)/genuine")
    try bob.transcript("backup --quiet \(home.path)/forged")
    return Stage(
      home: home,
      openers: [
        "--passphrase-file \(pass)", "--passphrase-file \(both) --key-file \(home.path)/half", "--key-file \(home.path)/key",
        "--recovery-file \(code)", "--identity \(home.path)/me",
      ], genuine: home.path + "/genuine", forged: home.path + "/forged", invitation: invitation)
  }

  /// Puts the content of `file` into the vault's existing file, as any writer can.
  private func put(_ file: String, into home: Home) throws {
    let tables = ["header", "header_copy", "state", "digest", "rec", "old", "log", "decided"]
    let copies = tables.map { "DELETE FROM main.\($0); INSERT INTO main.\($0) SELECT * FROM other.\($0);" }.joined()
    try home.attack("ATTACH '\(file)' AS other; BEGIN; \(copies) COMMIT")
  }

  @Test
  func `a key that a former member forged under an agent is refused with 66, and the genuine one is served again`() throws {
    let stage = try stage(passphrases: true)
    let home = stage.home
    defer { _ = try? home.coffer("agent stop") }
    home.locked()
    for opener in stage.openers {
      try home.transcript("unlock --quiet \(opener)")
      try home.transcript("vault get a", out: "genuine")
      try put(stage.forged, into: home)
      for _ in 0..<2 { try home.transcript("vault get a --json", err: #""kind":"forked""#, exit: 66) }
      try home.transcript("vault set b", in: "1", err: "does not come from the key of epoch 2", exit: 66)
      try put(stage.genuine, into: home)
      try home.transcript("vault get a", out: "genuine")
      #expect(try home.listed() == ["a"])
      try home.transcript("lock")
    }
  }

  @Test
  func `the agent's answers are checked against every invitation of who asks`() throws {
    let stage = try stage(passphrases: false)
    let home = stage.home
    defer { _ = try? home.coffer("agent stop") }
    let pin = try JSONSerialization.jsonObject(with: home.coffer("vault pin show --json").bytes) as? [String: Any]
    let now = try #require(pin?["invitation"] as? String)
    home.locked()
    try home.transcript("unlock --quiet \(stage.openers[2])")
    try home.transcript("vault get a --invitation \(now)", out: "genuine")
    let refused = "and the invitation of epoch 3"
    try home.transcript("vault get a --invitation \(stage.invitation)", err: refused, exit: 66)
    try home.transcript("vault get a", with: ["COFFER_EXPECT_VAULT": stage.invitation], err: refused, exit: 66)
    _ = try home.file("theirs", try home.content("me") + stage.invitation + "\n")
    try home.transcript("vault get a", with: ["COFFER_IDENTITY": home.path + "/theirs"], err: refused, exit: 66)
    #expect(try home.listed(with: ["COFFER_IDENTITY": home.path + "/me"]) == ["a"])
    try home.transcript("unlock --key-file \(home.path)/key --invitation \(stage.invitation)", err: refused, exit: 66)
    try home.transcript("vault get a", out: "genuine")
  }

  @Test
  func `an agent goes on while members change, until its own way in is removed`() throws {
    let home = try Home.withVault()
    defer { _ = try? home.coffer("agent stop") }
    try home.transcript("vault set a", in: "1")
    let made = try home.coffer("vault identity \(home.path)/me --new")
    try home.changesKey("vault slot add --label me --recipient \(made.out.trimmingCharacters(in: .newlines))")
    try home.transcript("unlock --quiet --identity \(home.path)/me")
    let key = "--key-file \(home.path)/key"
    home.locked()
    try home.changesKey("vault rotate --yes \(key)")
    try home.transcript("vault get a", out: "1")
    try home.transcript("vault slot add --quiet --label two --new-key-file \(home.path)/two \(key)")
    try home.changesKey("vault slot remove two --yes \(key)")
    try home.transcript("vault set a", in: "2")
    try home.transcript("vault get a --no-agent \(key)", out: "2")
    try home.changesKey("vault slot remove me --yes \(key)")
    try home.transcript("vault get a", err: "there is nothing to unlock it with", exit: 69)
    #expect(try home.coffer("status --agent").err.contains("the slot that the vault was unlocked with was removed, or edited"))
    try home.transcript("unlock --identity \(home.path)/me", err: "coffer: ", exit: 77)
    try home.transcript("unlock --quiet \(key)")
    try home.transcript("vault get a", out: "2")
  }
}
