import CofferTestSupport
import Coffer
import CofferPlatform
import CofferStorage
import Foundation
import Testing

@testable import CofferCLI

/// Findings of `coffer doctor` outside single files: other vaults, agents, owners, limits.
@Suite(.tags(.process), .wholeRun)
struct DoctorBranchTests {
  private struct Finding: Decodable { let check: String, severity: String, what: String, place: String?, cure: String }
  private struct Report: Decodable { let findings: [Finding] }

  private func findings(_ check: String, _ home: Home) throws -> [Finding] {
    let answer = try home.coffer("doctor --json")
    let found = try JSONDecoder().decode(Report.self, from: answer.bytes).findings
    #expect(found.allSatisfy { !$0.cure.isEmpty })
    #expect(answer.status == (found.allSatisfy { $0.severity == "note" } ? 0 : 2))
    return found.filter { $0.check == check }
  }

  private func replaceVault(of home: Home) throws {
    let other = try Home.withVault()
    for suffix in ["-wal", "-shm"] { unlink(home.path + "/data/vault.sqlite" + suffix) }
    let content = try Data(contentsOf: URL(fileURLWithPath: other.path + "/data/vault.sqlite"))
    unlink(home.path + "/data/vault.sqlite")
    _ = try home.file("data/vault.sqlite", content)
  }

  @Test
  func `another vault than the one this machine remembers`() throws {
    let home = try Home.sound()
    try replaceVault(of: home)
    let found = try findings("pins", home)
    #expect(found.map(\.severity) == ["problem"] && found.first?.what.hasPrefix("another vault was expected here: ") == true)
    #expect(found.first?.cure.contains("coffer vault pin accept") == true)
    try home.transcript("vault list --key-file \(home.path)/key", err: "was before", exit: 66)
  }

  @Test
  func `pages, records and an age that no command would read are found with and without a key`() throws {
    let home = try Home.sound()
    for number in 0..<12 { try home.transcript("vault set many \(number)", in: String(repeating: "x", count: 3_000)) }
    try home.attack("PRAGMA wal_checkpoint(TRUNCATE)")
    let sound = try Data(contentsOf: URL(fileURLWithPath: home.vault))
    func put(_ bytes: Data) throws {
      for side in ["-wal", "-shm"] { unlink(home.vault + side) }
      _ = try home.file("data/vault.sqlite", bytes)
    }
    func checks() throws -> [Finding] { try ["vault", "content", "pins"].flatMap { try findings($0, home) } }
    #expect(try checks().isEmpty)
    let key = try #require(home.environment["COFFER_KEY_FILE"])
    // A key in the environment, an unlocked agent, and neither.
    for way in 0..<3 {
      try put(sound)
      home.environment["COFFER_KEY_FILE"] = way == 0 ? key : nil
      if way == 1 { try home.transcript("unlock --quiet --key-file \(key)") }
      defer { if way == 1 { _ = try? home.coffer("agent stop") } }
      let quiet = try checks()
      #expect(quiet.map(\.severity) == (way == 2 ? ["note"] : []), "\(quiet)")
      #expect(
        way != 2
          || quiet.first?.what.hasPrefix("not verified") == true && quiet.first?.cure.contains("coffer vault verify") == true)
      let file = try FileHandle(forWritingTo: URL(fileURLWithPath: home.vault))
      try file.seek(toOffset: 8_192)
      try file.write(contentsOf: Data(repeating: 0x55, count: 7))
      try file.close()
      let pages = try checks()
      #expect(pages.map(\.severity) == ["problem"] && pages.first?.what.contains("damaged") == true, "\(way) \(pages)")
      if way == 1 { try home.transcript("lock") }
      try put(sound)
      if way == 1 { try home.transcript("unlock --quiet --key-file \(key)") }
      try home.attack("UPDATE rec SET value = zeroblob(length(value)) WHERE idx = (SELECT min(idx) FROM rec)")
      let records = try checks()
      #expect(records.map(\.severity) == [way == 2 ? "note" : "problem"], "\(way) \(records)")
      #expect(way == 2 || records.first?.what.contains("a record was changed without the key") == true, "\(records)")
    }
  }

  @Test
  func `an older copy of the vault is found without a key`() throws {
    let home = try Home.sound()
    try home.attack("PRAGMA wal_checkpoint(TRUNCATE)")
    let older = try Data(contentsOf: URL(fileURLWithPath: home.vault))
    try home.transcript("vault set a", in: "newer")
    for side in ["-wal", "-shm"] { unlink(home.vault + side) }
    _ = try home.file("data/vault.sqlite", older)
    for key in [home.environment["COFFER_KEY_FILE"], nil] {
      home.environment["COFFER_KEY_FILE"] = key
      let found = try findings("pins", home)
      #expect(found.map(\.severity) == ["problem"] && found.first?.what.contains("and was at 3 here before") == true, "\(found)")
    }
  }

  @Test
  func `lines of the identity's file that are no invitations, and an environment that is none`() throws {
    let home = try Home.sound()
    #expect(try home.coffer("vault identity \(home.path)/me --new").status == 0)
    home.environment["COFFER_IDENTITY"] = home.path + "/me"
    #expect(try findings("environment", home).isEmpty)
    _ = try home.file("me", try home.content("me") + "PVINV1-00\n")
    let found = try findings("environment", home)
    #expect(
      found.map(\.what) == ["line 2 of the identity's file is not an invitation"] && found.first?.place == home.path + "/me",
      "\(found)")
    home.environment["COFFER_IDENTITY"] = nil
    home.environment["COFFER_EXPECT_VAULT"] = "PVINV1-00"
    let expected = try findings("vault", home)
    #expect(expected.count == 1 && expected.first?.what.contains("neither a vault's id nor invitations") == true, "\(expected)")
  }

  @Test(.tags(.root))
  func `to root in a user's home the cure is to leave sudo out`() throws {
    guard geteuid() == 0 else { try Test.skip("only root can give files away") }
    let home = try Home.sound()
    chown("\(home.path)/data", 65534, 65534)
    let said = try home.coffer("vault set a", in: Data("x".utf8)).err
    #expect(said.contains("run it without sudo") && !said.contains("chown"), "\(said)")
  }

  @Test
  func `an agent that holds another vault than stands there, or does not hold it`() throws {
    let home = try Home.sound()
    defer { _ = try? home.coffer("agent stop") }
    try home.transcript("unlock --quiet")
    try replaceVault(of: home)
    let held = try findings("agent", home)
    #expect(held.map(\.severity) == ["problem"] && held.first?.what.hasPrefix("the agent holds vault ") == true)

    let two = try Home()
    two.environment["COFFER_HOME"] = nil
    two.environment.merge(["XDG_RUNTIME_DIR": two.path, "XDG_DATA_HOME": two.path + "/one"]) { $1 }
    try two.transcript("agent run --detach --quiet")
    defer { _ = try? two.coffer("agent stop") }
    two.environment["XDG_DATA_HOME"] = two.path + "/two"
    let kept = try findings("agent", two)
    #expect(
      kept.map(\.severity) == ["note"] && kept.first?.what.hasPrefix("the agent is locked: nothing has unlocked it") == true)
    #expect(kept.first?.place == two.path + "/two/coffer/vault.sqlite")
  }

  @Test
  func `a lock or a socket that a killed agent left: only the socket is worth a word, and neither is in the way`() throws {
    let home = try Home.sound()
    try home.transcript("unlock --quiet")
    defer { _ = try? home.coffer("agent stop") }
    let status = try JSONSerialization.jsonObject(with: home.coffer("status --agent --json").bytes) as? [String: Any]
    let agent = try pid_t(#require(status?["process"] as? Int))
    kill(agent, SIGKILL)
    eventually { hasEnded(agent) }
    #expect(home.exists("run/agent.lock") && home.exists("run/agent.sock"))
    #expect(try findings("sockets", home).map(\.place) == [home.path + "/run/agent.sock"])
    #expect(try findings("agent", home).isEmpty)
    try home.transcript("unlock --quiet")
    #expect(try findings("sockets", home).isEmpty)
  }

  @Test(.tags(.root))
  func `folders and files of another user`() throws {
    guard geteuid() == 0 else { try Test.skip("only root can give files away") }
    let nobody: uid_t = 65534
    let home = try Home.sound()
    for (path, check) in [("data", "places"), ("state", "places"), ("run", "places"), ("data/vault.sqlite", "vault")] {
      chown("\(home.path)/\(path)", nobody, nobody)
      let found = try findings(check, home)
      #expect(found.contains { $0.severity == "problem" && $0.what.contains("belongs to user 65534") }, "\(path): \(found)")
      chown("\(home.path)/\(path)", 0, 0)
    }
    chown(home.path + "/key", nobody, nobody)
    #expect(try findings("environment", home).map(\.what) == ["the file of COFFER_KEY_FILE belongs to user 65534"])
  }

  @Test
  func `memory that cannot be locked, where the limit forbids it`() throws {
    let home = try Home.sound()
    var words = ["sh", "-c", "ulimit -l 0; exec \(Home.coffer) doctor --json"]
    if geteuid() == 0 {
      // No limit holds for root: runs as another user, who gets the home.
      guard access("/usr/bin/setpriv", X_OK) == 0, Self.canRun(Home.coffer) else {
        try Test.skip("no setpriv, or another user cannot reach the program")
      }
      words = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] + words
      chown(home.path, 65534, 65534)
      for file in FileManager.default.enumerator(atPath: home.path) ?? .init() { chown("\(home.path)/\(file)", 65534, 65534) }
    }
    let answer = try #require(try home.program(words))
    let found = try JSONDecoder().decode(Report.self, from: Data(answer.out.utf8)).findings.filter { $0.check == "memory" }
    #expect(answer.status == 2 && found.map(\.severity) == ["warning"], "\(answer)")
    #expect(found.first?.what == "only 0 bytes of memory may be locked: further secrets may reach swap")
    #expect(found.first?.cure.contains("ulimit -l 8192") == true)
  }

  private static func canRun(_ path: String) -> Bool {
    var url = URL(fileURLWithPath: path)
    while true {
      var facts = stat()
      guard stat(url.path, &facts) == 0, facts.st_mode & 0o001 != 0 else { return false }
      guard url.path != "/" else { return true }
      url.deleteLastPathComponent()
    }
  }

  private func cheap() throws -> (home: Home, places: Places) {
    let home = try Home()
    _ = try home.file("pass", "correct horse")
    let places = Places(home: FilePath(home.path))
    _ = try UnlockedVault.create(
      at: places.vault, with: Credentials(passphrase: Home.secret("correct horse")), cost: .testing, options: places.vaultOptions)
    return (home, places)
  }

  @Test
  func `a passphrase that costs an attacker little, until a command that writes raises its cost`() throws {
    let (home, places) = try cheap()
    home.environment["COFFER_PASSPHRASE_FILE"] = home.path + "/pass"
    #expect(try findings("vault", home).first?.what.hasSuffix("is cheap to attack: 1 passes over 8 MiB") == true)
    try home.transcript("vault list")
    #expect(try findings("vault", home).count == 1, "reading writes nothing")
    try home.transcript("vault set a", in: "1")
    #expect(try findings("vault", home).isEmpty)
    let slots = try places.openVault().slots
    #expect(slots.map(\.passes) == [3] && slots.map(\.mebibytes) == [64])
    #expect(try home.coffer("vault log --json").out.contains("slotChanged"))
    try home.transcript("vault get a", out: "1")
  }

  @Test
  func `an agent raises the cost of a cheap passphrase with the first write that it makes`() throws {
    let home = try cheap().home
    try home.transcript("unlock --quiet --passphrase-file \(home.path)/pass")
    defer { _ = try? home.coffer("agent stop") }
    try home.transcript("vault set a", in: "1")
    #expect(try findings("vault", home).isEmpty)
    try home.transcript("vault get a", out: "1")
  }

  @Test
  func `what interrupted commands left is found at once, and not while its maker lives`() throws {
    let home = try Home.sound()
    let (draft, folder) = (try home.file("data/.vault.sqlite.x1.coffer-draft", "x"), home.path + "/run/coffer-edit-x1")
    let pin = try home.file("state/pins/.id-00.x2.coffer-draft-lock")
    let used = try home.file("data/..vault.sqlite.x1.coffer-draft.x3.coffer-draft-lock")
    let lock = try #require(try DescriptorLock.take(FilePath(used)))
    _ = try home.file("run/coffer-edit-x1/value", "secret")
    let maker = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    try #require(maker >= 0 && flock(maker, LOCK_EX | LOCK_NB) == 0)
    #expect(try findings("editing", home).isEmpty)
    close(maker)
    let output = try home.file("config/.x.coffer-unfinished", "secret")
    #expect(try findings("leftovers", home).map(\.place).contains(output))
    unlink(output)
    #expect(try findings("leftovers", home).map(\.place) == [draft, String(pin.dropLast("-lock".count))])
    #expect(try findings("editing", home).map(\.cure) == ["the next coffer edit wipes it; or rm -r \(folder)"])
    #expect(home.exists("data/.vault.sqlite.x1.coffer-draft"), "looking leaves all as it is")
    lock.release()
    #expect(try findings("leftovers", home).count == 3)
  }

  @Test
  func `what the environment says wrongly, and a list that is none`() throws {
    let home = try Home.sound()
    home.environment["COFFER_EXPECT_VAULT"] = "nonsense"
    #expect(try findings("vault", home).map(\.what) == ["COFFER_EXPECT_VAULT is neither a vault's id nor invitations"])
    _ = try home.file("config/app.plist", "no property list")
    #expect(try findings("preferences", home).map(\.severity) == ["problem"])
  }

  @Test
  func `credentials that other programs keep in the clear, and not the place where a variable stands instead`() throws {
    let home = try Home.sound()
    home.environment["HOME"] = home.path
    let files = [
      (".netrc", "machine example.com login ada password hunter2\n"), (".npmrc", "//registry/:_authToken=hunter2\n"),
      (".pypirc", "[pypi]\npassword = hunter2\n"), (".aws/credentials", "[default]\naws_secret_access_key = hunter2\n"),
      (".config/gh/hosts.yml", "github.com:\n  oauth_token: hunter2\n"), (".config/git/credentials", "https://ada:hunter2@h\n"),
    ]
    for (name, content) in files {
      let file = try home.file(name, content)
      let answer = try home.coffer("doctor")
      #expect(answer.status == 2 && answer.out.contains("in the clear (\(file))\n         try: coffer"), "\(name): \(answer.out)")
      #expect(!answer.out.contains("hunter2"))
      unlink(file)
    }
    _ = try home.file(".npmrc", "//registry/:_authToken=${NPM_TOKEN}\n")
    #expect(try findings("plain secrets", home).isEmpty)
  }
}
