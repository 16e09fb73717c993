import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI

@Suite(.tags(.process), .defaultRun)
struct PinCommandTests {
  func prepared() throws -> (home: Home, old: Data) {
    let home = try Home.withVault()
    try home.transcript("vault set a", in: "old")
    let old = try Data(contentsOf: URL(fileURLWithPath: home.vault))
    try home.transcript("vault set a", in: "new")
    return (home, old)
  }

  @Test
  func `an older copy of the file is refused with 66 and its own word, until it is accepted`() throws {
    let (home, old) = try prepared()
    let new = try Data(contentsOf: URL(fileURLWithPath: home.vault))
    try old.write(to: URL(fileURLWithPath: home.vault))
    try home.transcript("vault get a", err: "an older copy was put back", exit: 66)
    try home.transcript("vault get a --json", err: "\"kind\":\"rolledBack\"", exit: 66)
    try home.transcript("get a --domain a", err: "the vault is at generation 2, and was at 3 here before", exit: 66)
    #expect(try home.coffer("vault pin show").out.contains("seen               generation 3\n"))
    for command in ["vault pin show", "status"] {
      let answer = try home.coffer(command)
      #expect(answer.out.contains("the vault is at generation 2, and was at 3 here before"), "\(answer.out)")
      #expect(try home.coffer("\(command) --json").out.contains("\"problem\":\"the vault is at generation 2"))
    }
    let id = try home.vaultID()
    try home.transcript(
      "vault pin accept", out: "accepted vault \(id) at \(home.vault), generation 2\n",
      err: "this machine forgets that it saw generation 3")
    try home.transcript("vault get a", out: "old")
    try home.transcript("vault set a", in: "after")
    try new.write(to: URL(fileURLWithPath: home.vault))
    try home.transcript("vault get a --json", err: "\"kind\":\"forked\"", exit: 66)
    home.locked()
    try home.transcript("vault pin accept", err: "nothing to unlock it with", exit: 69)
  }

  @Test func `the agent locks a vault whose pin is accepted`() throws {
    let home = try Home.withVault()
    try home.transcript("unlock --quiet")
    defer { _ = try? home.coffer("agent stop") }
    #expect(try home.coffer("vault pin accept").status == 0)
    home.locked()
    try home.transcript("vault list", err: "nothing to unlock it with", exit: 69)
  }

  @Test
  func `a vault that is gone is missed where it was, and init is not what is advised first`() throws {
    let home = try Home.withVault()
    try home.transcript("vault set a", in: "1")
    let id = try home.vaultID()
    for side in ["", "-wal", "-shm"] { unlink(home.vault + side) }
    let answer = try home.coffer("vault list")
    #expect(answer.status == 78 && answer.err.contains("there is no vault, but \(id) was here"), "\(answer.err)")
    #expect(answer.err.contains("try: put it back, or restore a backup with coffer restore FILE"))
    let doctor = try home.coffer("doctor")
    #expect(doctor.status == 2 && doctor.out.contains("problem  vault: there is no vault, but \(id) was here"), "\(doctor.out)")
  }

  @Test
  func `an older copy is a problem to doctor, and no backup is made of it, though neither has a secret`() throws {
    let (home, old) = try prepared()
    home.locked()
    #expect(try !home.coffer("doctor").out.contains("problem"))
    try old.write(to: URL(fileURLWithPath: home.vault))
    let said = "the vault is at generation 2, and was at 3 here before"
    let doctor = try home.coffer("doctor")
    #expect(doctor.status == 2 && doctor.out.contains("problem  pins: \(said) (\(home.vault))\n"), "\(doctor.out)")
    try home.transcript("backup \(home.path)/copy", err: said, exit: 66)
    try home.transcript("backup \(home.path)/copy --json", err: "\"kind\":\"rolledBack\"", exit: 66)
    #expect(!home.exists("copy"))
    #expect(try FileManager.default.contentsOfDirectory(atPath: home.path + "/data").allSatisfy { !$0.contains("draft") })
    home.environment["COFFER_KEY_FILE"] = home.path + "/key"
    #expect(try home.coffer("vault pin accept").status == 0)
    home.locked()
    try home.transcript("backup -q \(home.path)/copy")
    #expect(try !home.coffer("doctor").out.contains("problem"))
    let told = ["COFFER_EXPECT_VAULT": try home.vaultID() + ":9"]
    try home.transcript("backup \(home.path)/second", with: told, err: "older than the 9 that is expected", exit: 66)
    #expect(try home.coffer("doctor", with: told).out.contains("problem  pins: the vault is at generation 2, older than the 9"))
  }

  @Test
  func `no backup is made of an older copy with the key of before a rotation, of another vault, or under a damaged pin`() throws {
    let (home, _) = try prepared()
    try home.attack("PRAGMA wal_checkpoint(TRUNCATE)")
    let older = try Data(contentsOf: URL(fileURLWithPath: home.vault))
    #expect(try home.coffer("vault rotate --yes").status == 0)
    for side in ["-wal", "-shm"] { unlink(home.vault + side) }
    try older.write(to: URL(fileURLWithPath: home.vault))
    // The generation in the clear, which anyone can change.
    try home.attack("UPDATE state SET bytes = CAST(x'ff00000000000000' || substr(bytes, 9) AS BLOB)")
    try home.transcript("backup \(home.path)/copy", err: "the vault's key is of epoch 1, and of epoch 2 was seen", exit: 66)

    let other = try Home.withVault()
    try Data(contentsOf: URL(fileURLWithPath: other.vault)).write(to: URL(fileURLWithPath: home.vault))
    try home.transcript("backup \(home.path)/copy --json", err: "\"kind\":\"replaced\"", exit: 66)
    #expect(!home.exists("copy"))

    _ = try other.file("state/pins/id-\(try other.vaultID())", "garbage")
    try other.transcript("backup \(other.path)/copy", err: "the rollback pin is unreadable", exit: 65)
  }

  @Test
  func `a vault that went on elsewhere is forked, and another one in its place is replaced`() throws {
    let (home, old) = try prepared()
    let elsewhere = try Home()
    _ = try elsewhere.file("data/vault.sqlite", old)
    chmod(elsewhere.path + "/data", 0o700)
    elsewhere.environment["COFFER_KEY_FILE"] = home.path + "/key"
    try elsewhere.transcript("vault set a", in: "there", err: "for the first time; from now on it notices an older copy")
    try Data(contentsOf: URL(fileURLWithPath: elsewhere.vault)).write(to: URL(fileURLWithPath: home.vault))
    try home.transcript("vault get a --json", err: "\"kind\":\"forked\"", exit: 66)

    let other = try Home.withVault()
    let foreign = try Data(contentsOf: URL(fileURLWithPath: other.vault))
    try foreign.write(to: URL(fileURLWithPath: home.vault))
    home.environment["COFFER_KEY_FILE"] = other.path + "/key"
    try home.transcript("vault list --json", err: "\"kind\":\"replaced\"", exit: 66)
    try home.transcript("vault pin accept --json", out: "{\"generation\":1,\"id\":\"\(try other.vaultID())\"}\n")
    try home.transcript("vault list")
  }

  @Test
  func `status tells what the pin says, how long the log is, and whether memory is locked`() throws {
    let (home, _) = try prepared()
    #expect(try home.coffer("status --details").out.contains("pin         up to date\n"))
    #expect(try home.coffer("status --details").out.contains("log         5 entries\n"))
    let status = try #require(JSONSerialization.jsonObject(with: home.coffer("status --details --json").bytes) as? [String: Any])
    #expect(status["pin"] as? String == "upToDate" && status["log"] as? Int == 5 && status["generation"] as? Int == 3)
    #expect(((status["memory"] as? [String: Any])?["lockedBytes"] as? Int ?? 0) > 0)
    try FileManager.default.removeItem(atPath: home.path + "/state/pins")
    let first = try home.coffer("status --details")
    #expect(first.out.contains("pin         first seen just now\n") && first.err.contains("for the first time"))
    try FileManager.default.removeItem(atPath: home.path + "/state/pins")
    try home.transcript("vault get a --quiet", out: "new")
    #expect(try home.pinned() == ["generation": 3, "epoch": 1])
    try home.transcript("vault set a", in: "1")
    #expect(try home.pinned() == ["generation": 4, "own": 4, "epoch": 1])
  }

  @Test
  func `a damaged pin is said, with its cure`() throws {
    let (home, _) = try prepared()
    let id = try home.vaultID()
    let pin = try home.file("state/pins/id-\(id)", "garbage")
    try home.transcript("vault get a", err: "the rollback pin is unreadable", exit: 65)
    #expect(try home.coffer("vault get a").err.contains("(\(pin))\n  try: "))
    #expect(try home.coffer("vault get a").err.contains("coffer vault pin accept"))
    #expect(try home.coffer("vault pin accept").status == 0)
    try home.transcript("vault get a", out: "new")
  }

  @Test
  func `--min-generation and COFFER_EXPECT_VAULT refuse an older vault where no pin is left`() throws {
    let (home, _) = try prepared()
    try home.transcript("vault get a --min-generation 3", out: "new")
    try home.transcript("vault get a --min-generation 4", err: "older than the 4 that is expected", exit: 66)
    try home.transcript("vault get a", with: ["COFFER_EXPECT_VAULT": try home.vaultID() + ":3"], out: "new")
    try home.transcript(
      "vault get a --min-generation 2", with: ["COFFER_EXPECT_VAULT": try home.vaultID() + ":4"], err: "older than the 4",
      exit: 66)
  }

  @Test(.tags(.process), .wholeRun)
  func `eight processes write at once, and nobody is ever told of a rollback`() throws {
    let home = try Home.withVault()
    let writers = try (1...8).map { writer in
      try home.started(
        "for i in $(seq 1 6); do echo '\(writer) '$i | '\(Home.coffer)' vault set item\(writer) || echo failed; done",
        "out\(writer)")
    }
    for writer in writers { writer.waitUntilExit() }
    for writer in 1...8 {
      // If the pin was locked for a second, the next commit updates it, and that is reported.
      let said = try home.content("out\(writer)").split(separator: "\n")
        .filter { !$0.contains("has held the lock for") && !$0.hasPrefix("  try: ") }
      #expect(said.isEmpty)
    }
    for process in 1...8 { try home.transcript("vault get item\(process)", out: "\(process) 6") }
    let status = try #require(JSONSerialization.jsonObject(with: home.coffer("status --details --json").bytes) as? [String: Any])
    #expect(status["generation"] as? Int == 49 && status["log"] as? Int == 97)
    try home.transcript("vault verify", out: "All 48 records are intact.\n")
  }

  @Test
  func `killed between the commit and its pin, a process leaves nothing to complain of`() throws {
    let (home, _) = try prepared()
    let pin = home.path + "/state/pins/id-\(try home.vaultID())"
    let before = try Data(contentsOf: URL(fileURLWithPath: pin))
    let killed = try home.traced(
      ["-P", pin, "-e", "trace=pwrite64", "-e", "inject=pwrite64:error=EIO:signal=SIGKILL:when=1"], "vault set a", in: "killed")
    #expect(killed.status == 137, "\(killed)")
    #expect(try Data(contentsOf: URL(fileURLWithPath: pin)) == before, "the pin was not written")
    try home.transcript("vault get a", out: "killed")
    #expect(try Data(contentsOf: URL(fileURLWithPath: pin)) != before)
    try home.transcript("vault set a", in: "on")
  }

  @Test(.tags(.root))
  func `where pins cannot be written, every command works and says so once`() throws {
    let (home, _) = try prepared()
    guard
      try home.shell("mount -t tmpfs tmpfs /mnt 2>/dev/null && umount /mnt && echo mounts") == "mounts\n"
    else { try Test.skip("nothing can be mounted read only here") }
    let pins = home.path + "/state/pins"
    let id = try home.vaultID()
    // A separate mount, in a namespace that ends with the command.
    let output = try home.shell(
      """
      unshare -m sh -c 'mount --bind "\(pins)" "\(pins)" && mount -o remount,ro,bind "\(pins)" \
        && echo set | "\(Home.coffer)" vault set a && "\(Home.coffer)" vault get a'; echo " $?"
      """)
    #expect(output.hasSuffix("set 0\n"), "\(output)")
    #expect(output.contains("the vault is fine, but its rollback pin could not be written"))
    #expect(try home.coffer("vault get a").out == "set" && home.exists("state/pins/id-\(id)"))
  }
}

extension PinCommandTests {
  /// Another user's machine of the same vault.
  private func machine(of home: Home) throws -> Home {
    let other = try home.otherMachine()
    other.environment["COFFER_VAULT"] = home.vault
    return other
  }

  @Test
  func `one accepting invitation lets all machines that saw lost changes go on, once`() throws {
    let (home, old) = try prepared()
    let (bob, eve, late) = (try machine(of: home), try machine(of: home), try machine(of: home))
    let file = URL(fileURLWithPath: home.vault)
    for (number, other) in [bob, eve, late].enumerated() { try other.transcript("vault set of\(number) -q", in: "lost") }
    try old.write(to: file)
    for other in [home, bob, eve] { try other.transcript("vault get a", err: "an older copy was put back", exit: 66) }
    try home.transcript("vault pin accept --for-all", err: "with --yes, if you recognize all of them", exit: 64)
    try home.transcript("vault get a", err: "an older copy was put back", exit: 66)
    let said = try home.coffer("vault pin accept --for-all --yes")
    let invitation = said.out.trimmingCharacters(in: .newlines)
    #expect(said.status == 0 && invitation.wholeMatch(of: /PVEND1-[0-9a-f]{120}/) != nil, "\(said)")
    #expect(said.err.contains("Invitation that ends older pins."), "\(said.err)")
    let accepted = try Data(contentsOf: file)
    try home.transcript("vault get a", out: "old")
    // An invitation to the same key that ends no pin, and a changed text, do not help.
    let plain = try home.coffer("vault invite").out.trimmingCharacters(in: .newlines)
    try bob.transcript("vault get a", with: ["COFFER_EXPECT_VAULT": plain], err: "seen here", exit: 66)
    for wrong in [invitation.replacing("PVEND1", with: "PVINV1"), plain.replacing("PVINV1", with: "PVEND1")] {
      try bob.transcript("vault get a", with: ["COFFER_EXPECT_VAULT": wrong], err: "neither a vault's id nor", exit: 64)
    }
    let anchor = try home.file("anchor", invitation + "\n", mode: 0o644)
    eve.environment["COFFER_EXPECT_VAULT"] = anchor
    let unlocked = try eve.coffer("unlock")
    #expect(unlocked.err.contains("accepted because of the invitation; changes up to generation 5 may be lost"), "\(unlocked)")
    try eve.transcript("agent stop -q")
    bob.environment["COFFER_EXPECT_VAULT"] = anchor
    try bob.transcript("vault get a", out: "old", err: "accepted because of the invitation, although")
    try bob.transcript("vault get a", out: "old")
    try bob.transcript("vault set b", in: "kept")
    try eve.transcript("vault get b", out: "kept")
    try eve.transcript("vault set b", in: "kept")
    // A machine that has seen the new key keeps its memory, with the invitation too.
    let new = try Data(contentsOf: file)
    for copy in [accepted, old] {
      try copy.write(to: file)
      for other in [bob, eve] { #expect(try other.coffer("vault get a").status == 66) }
    }
    try new.write(to: file)
    try late.transcript("vault get b", err: "seen here", exit: 66)
    late.environment["COFFER_EXPECT_VAULT"] = anchor
    try late.transcript("vault get b", out: "kept", err: "accepted because of the invitation, although")
  }

  @Test
  func `an invitation to all is refused where a lost key would make it useless, and bring a removed slot back`() throws {
    let (home, old) = try prepared()
    try home.transcript("vault rotate --yes -q")
    try old.write(to: URL(fileURLWithPath: home.vault))
    let lost = "the vault lost its key of epoch 2, so that an invitation helps no machine"
    try home.transcript("vault pin accept --for-all --yes", err: lost, exit: 77)
    try home.transcript("vault get a", err: "of epoch 2", exit: 66)
    try home.transcript("vault pin accept -q", out: "accepted vault \(home.vaultID()) at \(home.vault), generation 2\n")
    #expect(try home.coffer("vault pin accept --for-all --yes").out.hasPrefix("PVEND1-"))
  }
}

extension Home {
  func started(_ script: String, _ output: String) throws -> Process {
    let file = try FileHandle(forWritingTo: URL(fileURLWithPath: file(output)))
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = ["-c", script]
    process.environment = environment
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = file
    process.standardError = file
    try process.run()
    return process
  }

  var vault: String { path + "/data/vault.sqlite" }

  func vaultID() throws -> String {
    let status = try JSONSerialization.jsonObject(with: coffer("status --json").bytes) as? [String: Any]
    return try #require((status?["vault"] as? [String: Any])?["id"] as? String)
  }

  func pinned() throws -> [String: Int] {
    let answer = try coffer("vault pin show --json")
    let pin = try #require(JSONSerialization.jsonObject(with: answer.bytes) as? [String: Any])
    let id = try vaultID()
    #expect(pin["id"] as? String == id && pin["expected"] as? String == id && pin["vault"] as? String == vault)
    #expect(pin["pins"] as? String == "\(path)/state/pins")
    let invitation = try #require(pin["invitation"] as? String)
    let mark = try #require(pin["mark"] as? String)
    #expect(mark.count == 32 && invitation.hasPrefix("PVINV1-\(id)") && invitation.contains(mark))
    return pin.compactMapValues { $0 as? Int }
  }
}
