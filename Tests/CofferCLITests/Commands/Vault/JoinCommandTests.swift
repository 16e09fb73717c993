import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI
@testable import CofferVault
@testable import CofferVaultFormat

@Suite(.tags(.process), .defaultRun)
struct JoinCommandTests {
  private func invited() throws -> (owner: Home, guest: Home, invitation: String) {
    let owner = try Home.withVault()
    try owner.transcript("vault set a", in: "hush")
    let (guest, recipient) = try Home.withIdentity()
    let invitation = try owner.changesKey("vault slot add --recipient \(recipient) --label guest")
    return (owner, guest, invitation)
  }

  /// The vault's state in one file, including the write-ahead log.
  private func copy(_ home: Home) throws -> Data {
    try home.attack("PRAGMA wal_checkpoint(TRUNCATE)")
    return try Data(contentsOf: URL(fileURLWithPath: home.vault))
  }

  private func put(_ bytes: Data, at path: String) throws {
    for side in ["-wal", "-shm"] { unlink(path + side) }
    try bytes.write(to: URL(fileURLWithPath: path))
    chmod(path, 0o600)
  }

  @Test
  func `three homes: from an identity to an invitation, to a removal, and to the return of who was removed`() throws {
    let owner = try Home.withVault()
    try owner.transcript("vault set a", in: "first")
    let (ada, adasKey) = try Home.withIdentity()
    let (bob, bobsKey) = try Home.withIdentity()
    let forAda = try owner.changesKey("vault slot add --recipient \(adasKey) --label ada", "opened by recipient")
    let forBob = try owner.changesKey("vault slot add --recipient \(bobsKey) --label bob", "opened by recipient")
    #expect(forAda == forBob, "adding a slot does not change the key")

    for home in [ada, bob] {
      home.environment["COFFER_VAULT"] = owner.vault
      try home.transcript("vault get a", err: "try: ask a member of the vault for an invitation", exit: 66)
      #expect(!home.exists("state/pins"), "nothing is remembered of it")
      try home.transcript(
        "vault join \(owner.vault) \(forAda) --save --quiet",
        out: "joined vault \(try owner.vaultID()) at \(owner.vault), generation 4\n")
      try home.transcript("vault get a", out: "first")
    }
    try bob.transcript("vault set b", in: "of bob")
    let old = try copy(owner)

    let renewed = try owner.changesKey("vault slot remove bob --yes", "sealed to 2 slots")
    #expect(renewed != forAda)
    try owner.transcript("vault set a", in: "second")
    try ada.transcript("vault get a", out: "second")
    try bob.transcript("vault get a", err: "coffer: ", exit: 77)

    // Bob puts his copy back and continues: all his machines follow, and no other.
    let genuine = try copy(owner)
    try put(old, at: owner.vault)
    for _ in 0..<2 { try bob.changesKey("vault rotate --yes --quiet") }
    for value in ["forged", "again", "and again"] { try bob.transcript("vault set a", in: value) }
    try owner.transcript("vault get a --json", err: #""kind":"forked""#, exit: 66)
    try ada.transcript("vault get a --json", err: #""kind":"forked""#, exit: 66)
    // A machine with only the identity's file and the newest invitation.
    let (laptop, _) = try Home.withIdentity()
    try FileManager.default.removeItem(atPath: laptop.path + "/me")
    try FileManager.default.copyItem(atPath: ada.path + "/me", toPath: laptop.path + "/me")
    try laptop.transcript("vault join \(owner.vault) \(renewed)", err: "does not come from the key of epoch 2", exit: 66)
    #expect(!laptop.exists("state/pins"))

    try put(genuine, at: owner.vault)
    try owner.transcript("vault get a", out: "second")
    try ada.transcript("vault get a", out: "second")
    #expect(try laptop.coffer("vault join \(owner.vault) \(renewed)").status == 0)
    try laptop.transcript("vault get a --vault \(owner.vault)", out: "second")
    try bob.transcript("vault get a", err: "coffer: ", exit: 77)
  }

  @Test
  func `the identity's file keeps the invitation, its mode and what it had, and proves the vault elsewhere`() throws {
    let (owner, guest, invitation) = try invited()
    let recipient = try guest.coffer("vault identity \(guest.path)/me").out
    chmod(guest.path + "/me", 0o400)
    let identity = try guest.content("me")
    let answer = try guest.coffer("vault join \(owner.vault) \(invitation) --save --json")
    let json = try #require(JSONSerialization.jsonObject(with: answer.bytes) as? [String: Any], "\(answer.err)")
    #expect(json["saved"] as? String == guest.path + "/me" && json["invitation"] as? String == invitation)
    #expect(try guest.content("me") == identity + invitation + "\n" && guest.mode("me") == 0o400)
    try guest.transcript("vault identity \(guest.path)/me", out: recipient)
    // Another machine has the file but no pin.
    let elsewhere = try Home()
    try elsewhere.transcript("vault get a --vault \(owner.vault) --identity \(guest.path)/me --quiet", out: "hush")
    // A newer invitation replaces it; one to another vault is added.
    let newer = try owner.changesKey("vault rotate --yes")
    let other = try Home.withVault()
    let second = try other.changesKey("vault slot add --recipient \(recipient.trimmingCharacters(in: .newlines))")
    #expect(try guest.coffer("vault join \(owner.vault) --save").status == 0)
    #expect(try guest.coffer("vault join \(other.vault) \(second) --save").status == 0)
    #expect(try guest.content("me") == identity + newer + "\n" + second + "\n")
    // Without the option and a terminal the file stays unchanged.
    #expect(try guest.coffer("vault join \(owner.vault) --no-save").status == 0)
    try FileManager.default.createSymbolicLink(atPath: guest.path + "/link", withDestinationPath: guest.path + "/me")
    try guest.transcript(
      "vault join \(owner.vault) --identity \(guest.path)/link --save", out: "", err: "cannot be replaced", exit: 77)
    // A full file, or none: nothing is joined.
    let (full, third) = try (Home.withIdentity().home, Home.withVault())
    let text = try third.changesKey("vault rotate --yes")
    let key = try Invitation(text).key
    let lines = (UInt8(0)..<64).map { "\(Invitation(vault: VaultID(bytes: [UInt8](repeating: $0, count: 16)), key: key))\n" }
    _ = try full.file("me", full.content("me") + lines.joined())
    try full.transcript("vault join \(third.vault) --key-file \(third.path)/key --save", err: "no room for another", exit: 64)
    full.environment["COFFER_IDENTITY"] = nil
    try full.transcript(
      "vault join \(third.vault) --key-file \(third.path)/key --save", err: "--save needs an identity's file", exit: 64)
    #expect(!full.exists("state/pins"))
    #expect(try guest.content("me") == identity + newer + "\n" + second + "\n")
  }

  @Test
  func `where the invitation cannot be saved after all, the vault is joined, and that is said`() throws {
    let (owner, guest, invitation) = try invited()
    let line = "vault join \(owner.vault) \(invitation) --save"
    // The first two are the pins'.
    let faults = ["-e", "trace=?rename,?renameat", "-e", "inject=?rename,?renameat:error=ENOSPC:when=3"]
    let full = try guest.traced(faults, line)
    #expect(full.status == 74 && full.err.contains("the vault is joined, but its invitation was not saved: could not"), "\(full)")
    #expect(full.err.contains(/file: PVINV1-[0-9a-f]+\n/), "\(full)")
    #expect(!full.err.contains("nothing was changed"), "\(full)")
    #expect(full.err.contains("coffer vault join \(owner.vault) --save"), "\(full)")
    try guest.transcript("vault get a --vault \(owner.vault)", out: "hush")
  }

  @Test
  func `several invitations in one word, and an empty place, are told for what they are`() throws {
    let (owner, guest, invitation) = try invited()
    for separator in [" ", "\n"] {
      let both = invitation + separator + invitation
      try owner.transcript(
        "vault get a --invitation '\(both)'", err: "give each invitation its own --invitation", exit: 64)
    }
    try owner.transcript(
      "vault get a", with: ["COFFER_EXPECT_VAULT": invitation + "\n" + invitation], err: "with spaces between several", exit: 64)
    try owner.transcript(
      "vault get a", with: ["COFFER_EXPECT_VAULT": invitation + " PVINV1-00"], err: "its word 2 is not an invitation", exit: 64)
    try guest.transcript("vault join ''", err: "the place of the vault is empty", exit: 64)
    try guest.transcript("vault get a --vault ''", err: "the place of the vault is empty", exit: 64)
  }

  @Test
  func `the expected vault is named by a file that only this user and root can change`() throws {
    let (owner, guest, invitation) = try invited()
    let file = guest.path + "/team.invitation", other = try Home.withVault()
    try "\(invitation)\n\(invitation)\n".write(toFile: file, atomically: false, encoding: .utf8)
    chmod(file, 0o644)
    let line = "vault get a --vault \(owner.vault)", expecting = ["COFFER_EXPECT_VAULT": file]
    #expect(try guest.coffer(line, with: expecting).out == "hush")
    try guest.transcript("init --new-key-file \(guest.path)/key", with: expecting, err: "names another vault", exit: 64)
    chmod(file, 0o664)
    try guest.transcript(line, with: expecting, err: "another user can change it", exit: 77)
    chmod(file, 0o644)
    try other.coffer("vault invite").out.write(toFile: file, atomically: false, encoding: .utf8)
    let replaced = try guest.coffer(line, with: expecting)
    #expect(replaced.status == 66 && replaced.err.contains("is expected"), "\(replaced.err)")
    for wrong in [file, "", "PVINV1-00"] {
      try wrong.write(toFile: file, atomically: false, encoding: .utf8)
      try guest.transcript(line, with: expecting, err: "neither a vault's id nor invitations", exit: 64)
    }
    try guest.transcript(line, with: ["COFFER_EXPECT_VAULT": file + ".old"], err: "resolve the path", exit: 74)
  }

  @Test
  func `a new vault is never the one that is expected, and none is made`() throws {
    let (owner, _, invitation) = try invited()
    let home = try Home()
    for expected in [invitation, try owner.vaultID()] {
      try home.transcript(
        "init --new-key-file \(home.path)/key", with: ["COFFER_EXPECT_VAULT": expected],
        err: "COFFER_EXPECT_VAULT names another vault", exit: 64)
    }
    #expect(!home.exists("key") && !home.exists("data"))
  }

  @Test
  func `without an invitation join is refused where nobody can compare, and --yes compares nothing`() throws {
    let (owner, guest, _) = try invited()
    for line in ["vault join \(owner.vault)", "vault join \(owner.vault) --yes", "vault join \(owner.vault) --save --json"] {
      let answer = try guest.coffer(line)
      #expect(answer.status == 66 && answer.out.isEmpty, "\(answer)")
      #expect(answer.err.contains("coffer vault join PLACE INVITATION"))
    }
    guest.environment["COFFER_EXPECT_VAULT"] = try owner.vaultID()
    try guest.transcript("vault join \(owner.vault)", err: "anyone could have created it", exit: 66)
    #expect(!guest.exists("state/pins"))
  }

  @Test
  func `at a terminal join shows id, epoch and mark of a vault that nothing proves, and asks`() throws {
    let (owner, guest, invitation) = try invited()
    let mark = String(invitation.dropFirst(7 + 32 + 16).prefix(32))
    let no = try PseudoTerminal()
    let refused = try no.coffer("vault join \(owner.vault)", in: guest)
    no.shows("do they match? [y/N] ")
    #expect(no.shown.contains("id     \(try owner.vaultID())") && no.shown.contains("epoch  1\r\nmark   \(mark)"), "\(no.shown)")
    #expect(try owner.coffer("vault pin show").out.contains("mark               \(mark)\n"))
    no.type("n\n")
    #expect(try refused.wait() == 66)
    #expect(!guest.exists("state/pins"))
    let yes = try PseudoTerminal()
    let joined = try yes.coffer("vault join \(owner.vault)", in: guest)
    yes.shows("do they match? [y/N] ")
    yes.type("y\n")
    yes.shows("to prove the vault wherever the file is used? [y/N] ")
    yes.type("y\n")
    #expect(try joined.wait() == 0)
    #expect(try guest.content("me").hasSuffix("\n\(invitation)\n"))
    try guest.transcript("vault get a --vault \(owner.vault)", out: "hush")
  }

  @Test
  func `a pin that refuses the vault is not asked around by join`() throws {
    let (owner, guest, invitation) = try invited()
    #expect(try guest.coffer("vault join \(owner.vault) \(invitation)").status == 0)
    let old = try copy(owner)
    try owner.transcript("vault set a", in: "newer")
    try guest.transcript("vault get a --vault \(owner.vault)", out: "newer")
    try put(old, at: owner.vault)
    try guest.transcript("vault join \(owner.vault) \(invitation)", err: "coffer vault pin accept", exit: 66)
    // Its own secret proves the vault without consent, and the pin is still checked.
    try owner.transcript("vault join \(owner.vault)", err: "coffer vault pin accept", exit: 66)
    #expect(try owner.coffer("vault pin accept").status == 0)
    try owner.transcript(
      "vault join \(owner.vault) --quiet",
      out: "joined vault \(try owner.vaultID()) at \(owner.vault), generation 3\n")
  }

  @Test
  func `a pin that cannot be written is an error of join, which is for nothing else`() throws {
    let (owner, guest, invitation) = try invited()
    let (pins, line) = (guest.path + "/state/pins", "vault join \(owner.vault) \(invitation)")
    let faults = ["-P", pins, "-e", "trace=?mkdir,mkdirat", "-e", "inject=?mkdir,mkdirat:error=ENOSPC"]
    let full = try guest.traced(faults, line)
    #expect(full.status == 74 && full.out.isEmpty && full.err.contains("coffer: could not"), "\(full)")
    #expect(!guest.exists("state/pins"))
    #expect(try guest.coffer(line).status == 0 && guest.exists("state/pins"))
    _ = try owner.file("state/pins/id-\(owner.vaultID())", "garbage")
    try owner.transcript("vault join \(owner.vault)", err: "the rollback pin is unreadable", exit: 65)
  }

  @Test
  func `an invitation is asked by every way it is given, and one that is none is refused`() throws {
    let (owner, guest, invitation) = try invited()
    try guest.transcript("vault get a --vault \(owner.vault) --invitation \(invitation) --quiet", out: "hush")
    let other = try Home.withVault()
    let (_, recipient) = try Home.withIdentity()
    let foreign = try other.changesKey("vault slot add --recipient \(recipient)")
    for line in ["vault get a --invitation \(foreign)", "vault get a --invitation \(invitation) --invitation \(foreign)"] {
      try owner.transcript(line, err: "is expected", exit: 66)
    }
    try owner.transcript("vault get a", with: ["COFFER_EXPECT_VAULT": foreign], err: "is expected", exit: 66)
    try owner.transcript("status --json", with: ["COFFER_EXPECT_VAULT": foreign], err: #""kind":"replaced""#, exit: 66)
    try owner.transcript("vault get a", with: ["COFFER_EXPECT_VAULT": "\(invitation) \(invitation)"], out: "hush")
    for mistyped in [
      invitation.uppercased(), String(invitation.dropLast()), invitation + "0", "PVINV2-" + invitation.dropFirst(7),
      "\(invitation)\n\(invitation)", invitation.replacing("0", with: "1", maxReplacements: 1),
    ] {
      try guest.transcript(
        "vault join \(owner.vault) '\(mistyped)'", err: "the word after the place is not an invitation", exit: 64)
      try owner.transcript(
        "vault get a --invitation '\(mistyped)'", err: "the value of --invitation is not an invitation", exit: 64)
      try owner.transcript(
        "vault get a", with: ["COFFER_EXPECT_VAULT": mistyped], err: "is neither a vault's id nor invitations", exit: 64)
      let (thief, _) = try Home.withIdentity()
      _ = try thief.file("me", try thief.content("me") + mistyped + "\n")
      if !mistyped.contains("\n") {
        let said = "line 2 of the identity's file is not an invitation (\(thief.path)/me)"
        try thief.transcript("vault get a --vault \(owner.vault)", err: said, exit: 65)
      }
    }
  }

  @Test
  func `an older invitation holds through rotations, and a newer one refuses the older vault`() throws {
    let (owner, guest, first) = try invited()
    let old = try copy(owner)
    let second = try owner.changesKey("vault rotate --yes")
    try guest.transcript("vault get a --vault \(owner.vault) --invitation \(first) --quiet", out: "hush")
    try put(old, at: owner.vault)
    try FileManager.default.removeItem(atPath: owner.path + "/state/pins")
    try owner.transcript("vault get a --invitation \(second)", err: "and the invitation of epoch 2", exit: 66)
    let expecting = ["COFFER_EXPECT_VAULT": second]
    try owner.transcript("backup \(owner.path)/backup", with: expecting, err: "and the invitation of epoch 2", exit: 66)
    #expect(!owner.exists("backup"))
    let doctor = try owner.coffer("doctor --json", with: expecting)
    #expect(doctor.status == 2 && doctor.out.contains("and the invitation of epoch 2"), "\(doctor.out)")
  }

  @Test
  func `doctor tells of an invitation older than what this machine knows`() throws {
    let (owner, _, first) = try invited()
    let second = try owner.changesKey("vault rotate --yes")
    let said = "an invitation of key epoch 1, and the vault's key is of epoch 2"
    #expect(try owner.coffer("doctor", with: ["COFFER_EXPECT_VAULT": first]).out.contains(said))
    #expect(try !owner.coffer("doctor", with: ["COFFER_EXPECT_VAULT": second]).out.contains("an invitation of key epoch"))
  }
}
