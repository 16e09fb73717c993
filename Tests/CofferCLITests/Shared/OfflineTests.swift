import CofferTestSupport
import Foundation
import Testing

@Suite(.tags(.process), .wholeRun)
struct OfflineTests {
  private func start(_ line: String, _ home: Home) throws -> (child: Child, said: () -> String, told: () -> String) {
    let id = UUID().uuidString
    let names = try ["in", "out", "err"].map { try home.file(".run/\(id).\($0)") }
    let child = try Child(
      Home.words(line), environment: home.environment,
      opening: [0: (names[0], O_RDONLY), 1: (names[1], O_WRONLY), 2: (names[2], O_WRONLY)])
    let read = { (name: String) in (try? String(contentsOfFile: name, encoding: .utf8)) ?? "" }
    return (child, { read(names[1]) }, { read(names[2]) })
  }

  @Test
  func `a mirror is kept through a server that comes back, and is read while there is none`() throws {
    let server = try DatabaseServer.make()
    let home = try Home.withSharedVault(server)
    let mirror = home.path + "/m/team.mirror"
    try home.transcript("set token --domain coffer", in: "tok")
    try home.transcript("vault set web ada --label Ada", in: "one")
    try home.transcript("vault get web ada --vault mirror:\(mirror)", err: "there is no mirror", exit: 78)
    let (child, said, told) = try start("vault mirror \(mirror) --follow --json", home)
    eventually("there is a mirror") { said().contains(#""written":true"#) }
    #expect(said().contains(#"{"file":"\#(mirror)","generation":"#), "\(said())")
    try server.crash()
    try home.transcript("vault set web ada --quiet", in: "two")
    let note = "coffer: note: reading the mirror \(mirror), refreshed just now\n"
    eventually("the commit after that is mirrored") {
      (try? home.coffer("vault get web ada --vault mirror:\(mirror)"))?.out == "two"
    }
    kill(child.id, SIGTERM)
    #expect(try child.wait() == 143, "\(told())")
    server.stop(SIGINT)
    let away = try home.coffer("vault get web ada")
    #expect(away.status == 75 && away.err.contains("--vault mirror:FILE"), "\(away.err)")
    #expect(away.err.contains("coffer vault mirror"), "\(away.err)")

    try home.transcript("--vault mirror:\(mirror) vault get web ada", out: "two", err: note)
    home.environment["COFFER_VAULT"] = "mirror:\(mirror)"
    try home.transcript("vault get web ada --quiet", out: "two")
    try home.transcript("get token", out: "tok", err: note)
    #expect(try home.listed() == ["coffer/token", "web/ada Ada"])
    #expect(try home.listed("vault find ada") == ["web/ada Ada"])
    try home.transcript("run --env T=coffer://coffer/token -- sh -c 'test $T = tok'", err: note)
    _ = try home.file("template", "t={{coffer://coffer/token}}\n")
    try home.transcript("inject -i \(home.path)/template", out: "t=tok\n", err: note)
    for (line, answer) in [
      ("vault show web ada", "Ada"), ("status --details --json", #""path":"\#(mirror)""#), ("vault verify", "3 records"),
      ("vault log", "vaultCreated"), ("vault history web ada --json", #""revision":2"#), ("vault slot list", "key file"),
      ("vault audit --json", "findings"), ("vault pin show --json", #""vault":"\#(mirror)""#), ("status", mirror),
      ("export --reveal", "two"), ("list", "token"),
    ] {
      let told = try home.coffer(line)
      #expect(told.out.contains(answer) && told.err == note, "\(line): \(told.status) \(told.out) \(told.err)")
    }
    try home.transcript("backup --quiet \(home.path)/copy")
    // Each way of writing: items, the key, a new vault, a replacement, a later store, the agent.
    for line in [
      "vault set web ada", "vault delete web ada --yes", "set token --domain coffer", "vault rotate --yes", "vault repair",
      "vault pin accept", "init --new-key-file \(home.path)/k2", "recover", "restore \(home.path)/copy",
      "merge \(home.path)/copy", "unlock", "watch", "import --from env --service x \(home.path)/template",
      "login example.com --with-token", "doctor", "agent run --detach", "secret-service run",
    ] {
      let answer = try home.coffer(line, in: Data("GEZDGNBVGY3TQOJQ".utf8))
      #expect(
        answer.status == 74 && answer.err.contains("a mirror can only be read"),
        "\(line): \(answer.status) \(answer.err)")
      #expect(answer.err.contains("use the vault's own place"), "\(line)")
    }
    #expect(!home.exists("k2") && !home.exists("run/agent.sock"), "no key is left, and no agent is started")
    try home.transcript("defaults write app theme dark")
    try home.transcript("set theme dark --plain --quiet")
    try home.transcript("set theme --secret", err: "a mirror can only be read", exit: 74)
    #expect(try home.coffer("get theme").out == "dark")
    try home.transcript("lock --quiet")
    try home.transcript("vault verify --vault mirror:", err: "a mirror is a file", exit: 64)
    let url = try home.coffer("vault verify --vault mirror:postgresql://ada:hunter2@db/x#n")
    #expect(url.status == 64 && url.err.contains("a mirror is a file") && !url.err.contains("hunter2"), "\(url.err)")
    try home.transcript("lock --vault mirror:\(mirror)", err: "a mirror can only be read", exit: 74)
    try home.transcript("get token", with: ["COFFER_VAULT": "mirror:\(mirror)x"], err: "there is no mirror", exit: 78)
  }

  @Test
  func `another vault in the mirror's place, and a mirror that was exchanged, are refused before a secret is used`() throws {
    let home = try Home.withSharedVault()
    let other = try Home.withSharedVault()
    let (mirror, theirs) = (home.path + "/m", home.path + "/t")
    try home.transcript("vault set a", in: "1")
    try home.transcript("vault mirror \(mirror)", err: "mirrored vault")
    try home.transcript("vault mirror \(mirror)", err: "is up to date")
    let second = ["COFFER_VAULT": other.place, "COFFER_KEY_FILE": other.path + "/key"]
    try home.transcript("vault mirror --quiet \(theirs)", with: second)
    try home.transcript("vault list --vault mirror:\(theirs) --quiet", with: second)
    let held = try Data(contentsOf: URL(fileURLWithPath: mirror))
    try Data(contentsOf: URL(fileURLWithPath: theirs)).write(to: URL(fileURLWithPath: mirror))
    chmod(mirror, 0o600)
    try home.transcript("vault get a --vault mirror:\(mirror)", err: "the mirror is of vault", exit: 66)
    try held.write(to: URL(fileURLWithPath: mirror))
    chmod(mirror, 0o600)

    try home.transcript("vault get a --vault mirror:\(mirror) --min-generation 99", err: "older than the 99", exit: 66)
    try home.transcript("backup --quiet \(home.path)/copy")
    try home.transcript("vault get a --vault mirror:\(home.path)/copy", err: "this machine has created no mirror here", exit: 66)
    let older = try Data(contentsOf: URL(fileURLWithPath: mirror))
    try home.transcript("vault set a --quiet", in: "2")
    try home.transcript("vault mirror --quiet \(mirror)")
    try older.write(to: URL(fileURLWithPath: mirror))
    chmod(mirror, 0o600)
    try home.transcript(
      "vault get a --vault mirror:\(mirror)", err: "try: coffer vault mirror FILE --vault URL creates it again", exit: 66)
    try home.transcript("vault mirror --quiet \(mirror)")
    try home.transcript("vault get a --quiet --vault mirror:\(mirror)", out: "2")
    try home.transcript("vault get a --vault \(mirror)", err: "try: --vault mirror:FILE, which reads it", exit: 77)
    try home.transcript("vault use away mirror:\(mirror) --quiet")
    try home.transcript("vault get a --quiet --vault away", out: "2")
    let child = "cd /; \(Home.coffer) vault get a --quiet --key-file \(home.path)/key"
    try home.transcript("run --vault away --quiet -- sh -c '\(child)'", out: "2")
    // Neither server nor agent is asked.
    try home.transcript("unlock --quiet")
    try home.transcript("vault set a --quiet", in: "3")
    try home.transcript("vault get a --quiet --vault mirror:\(mirror)", out: "2")
    try home.transcript("vault get a", out: "3")
    try home.transcript("agent stop --quiet")
    try home.transcript(
      "vault mirror \(mirror)", with: ["COFFER_VAULT": "mirror:\(mirror)"], err: "a mirror can only be read", exit: 74)
    try home.transcript("vault mirror --quiet \(mirror)")
    try home.transcript("vault get a --quiet --vault mirror:\(mirror)", out: "3")
    unlink(mirror)
    try home.transcript("vault get a --quiet --vault mirror:\(mirror)", err: "there is no mirror", exit: 78)
    // A vault that is made in the mirror's place is a vault, and no refresh replaces it.
    try home.transcript("init --quiet --vault \(mirror) --new-key-file \(home.path)/k2")
    try home.transcript("vault set b --quiet --vault \(mirror) --key-file \(home.path)/k2", in: "4")
    try home.transcript("vault get b --quiet --vault \(mirror) --key-file \(home.path)/k2", out: "4")
    try home.transcript("vault mirror \(mirror)", err: "the mirror is of vault", exit: 66)
    let file = try Home.withVault()
    try file.transcript("vault mirror \(file.path)/m", err: "a mirror is of a vault on a server", exit: 77)
  }

  @Test
  func `a server that goes back to an older backup ends what follows it, and the mirror stays`() throws {
    let server = try DatabaseServer.shared
    let home = try Home.withSharedVault()
    let (mirror, schema) = (home.path + "/m", home.schema)
    let tables = ["decided", "digest", "header", "header_copy", "log", "old", "rec", "state"]
    try home.transcript("vault set a", in: "1")
    try server.sql(
      "CREATE SCHEMA \(schema)_x;" + tables.map { "CREATE TABLE \(schema)_x.\($0) AS SELECT * FROM \(schema).\($0);" }.joined())
    try home.transcript("vault set a --quiet", in: "2")
    let (child, said, told) = try start("vault mirror \(mirror) --follow --json", home)
    eventually("there is a mirror") { said().contains(#""written":true"#) }
    try server.sql(
      tables.map { "DELETE FROM \(schema).\($0); INSERT INTO \(schema).\($0) SELECT * FROM \(schema)_x.\($0);" }.joined()
        + "NOTIFY \(schema)")
    #expect(try child.wait() == 66 && told().contains("rolledBack"), "\(told())")
    try home.transcript("vault get a --quiet --vault mirror:\(mirror)", out: "2")
    try home.transcript("vault mirror \(mirror)", err: "the vault is at generation", exit: 66)
    try home.transcript("vault get a --quiet --vault mirror:\(mirror)", out: "2")
  }

  @Test(arguments: [false, true])
  func `programs that refresh one mirror at once leave it whole, its only file, and at the newest commit`(withFollower: Bool)
    throws
  {
    let home = try Home.withSharedVault()
    let mirror = home.path + "/m/team"
    try home.transcript("vault set a", in: "0")
    let follower = withFollower ? try start("vault mirror \(mirror) --follow --quiet", home) : nil
    for round in 1...4 {
      try home.transcript("vault set a --quiet", in: "\(round)")
      let started = try (0..<2).map { _ in try start("vault mirror \(mirror) --quiet", home) }
      if round > 1 {
        let seen = try home.coffer("vault get a --quiet --vault mirror:\(mirror)")
        #expect(seen.status == 0 && ["\(round - 1)", "\(round)"].contains(seen.out), "\(round): \(seen.out) \(seen.err)")
      }
      for (child, _, told) in started { #expect(try child.wait() == 0, "\(round): \(told())") }
      try home.transcript("vault get a --quiet --vault mirror:\(mirror)", out: "\(round)")
    }
    if let (child, _, told) = follower {
      try home.transcript("vault set a --quiet", in: "followed")
      eventually("the last commit is followed") {
        (try? home.coffer("vault get a --quiet --vault mirror:\(mirror)"))?.out == "followed"
      }
      kill(child.id, SIGTERM)
      #expect(try child.wait() == 143 && told().isEmpty, "\(told())")
    }
    #expect(try home.coffer("vault verify --quiet --vault mirror:\(mirror)").status == 0)
    #expect(try FileManager.default.contentsOfDirectory(atPath: home.path + "/m") == ["team"])
  }

  @Test(.tags(.root))
  func `a refresh that finds no room leaves the mirror as it was`() throws {
    let home = try Home.withSharedVault()
    let disk = try home.smallDisk("400k")
    try home.transcript("vault set a", in: "1")
    try home.transcript("vault mirror --quiet \(disk.path)/m")
    try home.transcript("vault set big --quiet", in: String(repeating: "x", count: 300_000))
    let full = try home.coffer("vault mirror \(disk.path)/m")
    #expect(full.status == 74 && full.err.contains("free some space"), "\(full.err)")
    try home.transcript("vault get a --quiet --vault mirror:\(disk.path)/m", out: "1")
    #expect(try FileManager.default.contentsOfDirectory(atPath: disk.path) == ["m"])
    try home.transcript("vault delete big --forever --yes --quiet")
    try home.transcript("vault set a --quiet", in: "2")
    try home.transcript("vault mirror --quiet \(disk.path)/m")
    try home.transcript("vault get a --quiet --vault mirror:\(disk.path)/m", out: "2")
  }
}
