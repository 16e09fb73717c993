import CofferTestSupport
import Foundation
import Testing

@Suite(.tags(.process), .wholeRun)
struct SharedPlaceTests {
  @Test
  func `items are stored, read, found, renamed, brought back and removed as in a file`() throws {
    let home = try Home.withSharedVault()
    try home.transcript("set token --domain coffer", in: "tok")
    try home.transcript("get token", out: "tok")
    try home.transcript("vault set web ada --label Ada --attribute url=https://example.com", in: "one")
    try home.transcript("vault set web ada", in: "two")
    try home.transcript("vault get web ada --revision 1", out: "one")
    try home.transcript("vault set web ada --field pin", in: "1234")
    try home.transcript("vault get web ada --field pin", out: "1234")
    #expect(try home.coffer("vault history web ada --json").out.contains(#""revision":1"#))
    try home.transcript("vault revert web ada 1 --quiet")
    try home.transcript("vault get web ada", out: "one")
    try home.transcript("vault rename web ada web grace --quiet")
    #expect(try home.listed() == ["coffer/token", "web/grace Ada"])
    #expect(try home.coffer("vault find example").out.contains("grace"))
    #expect(try home.coffer("vault show web grace").out.contains("Ada"))
    try home.transcript("vault set web bob --generate --quiet")
    try home.transcript("vault delete web bob --yes --quiet")
    try home.transcript("vault get web bob", err: "no item with this name", exit: 1)
    try home.transcript("run --env T=coffer://coffer/token -- sh -c 'test $T = tok'")
    _ = try home.file("template", "t={{coffer://coffer/token}}\n")
    try home.transcript("inject -i \(home.path)/template", out: "t=tok\n")
    let log = try home.coffer("vault log --json").out
    #expect(log.contains("vaultCreated") && log.contains("itemDeleted"), "\(log)")
    #expect(!home.exists("data"), "nothing is kept in a file here")
  }

  @Test
  func `slots, pins, keys, checks and repairs are those of a file, and another machine follows them`() throws {
    let home = try Home.withSharedVault()
    let other = try home.otherMachine()
    try home.transcript("vault set a", in: "1")
    try other.transcript("vault get a --quiet", out: "1")
    try home.changesKey("vault rotate --yes")
    try other.transcript("vault get a", out: "1")
    try home.transcript("vault slot add --new-key-file \(home.path)/second --label second --quiet")
    let slots = try home.coffer("vault slot list --json").out
    let second = slots.matches(of: /\{[^{}]*"id":"([0-9a-f]{32})"[^{}]*\}/).first { $0.0.contains("\"second\"") }
    let slot = try #require(second?.1)
    try other.transcript("vault get a --key-file \(home.path)/second", out: "1")
    try home.changesKey("vault slot remove \(slot) --yes --quiet")
    try other.transcript("vault get a --key-file \(home.path)/second", err: "wrong key file", exit: 77)
    #expect(try home.coffer("vault pin show").out.contains(home.place))
    #expect(try home.coffer("vault verify").status == 0 && home.coffer("vault repair").out.contains("Nothing to repair"))
    #expect(try home.coffer("status --json").out.contains(#""format":1"#))
    #expect(try home.coffer("status --paths").out.contains(home.place))
    #expect(try home.coffer("vault audit --json").err.isEmpty)
    try home.transcript("init --new-key-file \(home.path)/third", err: "there is already a vault", exit: 73)
    #expect(!home.exists("third"), "a key that opens nothing is not left")
  }

  @Test
  func `the role that makes a vault lets other roles in, with it or later, and shuts them out`() throws {
    let home = try Home.onServer(), server = try DatabaseServer.shared
    let (place, schema) = (home.place, home.schema)
    let (owner, writer, reader, group) = (schema + "_o", schema + "_w", schema + "_r=1", schema + "_g")
    for role in [owner, writer, reader, group] { try server.sql("CREATE ROLE \"\(role)\" LOGIN") }
    try server.sql("GRANT CREATE ON DATABASE postgres TO \(owner)")
    func by(_ role: String) -> [String: String] {
      let name = role.replacing("=", with: "%3D")
      return ["COFFER_VAULT": place.replacing("coffer@", with: "\(name)@"), "COFFER_KEY_FILE": "\(home.path)/key"]
    }
    home.environment["COFFER_VAULT"] = by(owner)["COFFER_VAULT"]
    let made = "init --quiet --new-key-file \(home.path)/key --grant"
    try home.transcript(
      "\(made) \(writer)=writer --grant \(schema)_x=reader", err: "the server has no role of this name", exit: 64)
    try home.transcript("\(made) \(writer)", err: "names no role and rights", exit: 64)
    let twice = "the role '\(writer)' is named twice"
    try home.transcript("\(made) \(writer)=writer --grant \(writer)=reader", err: twice, exit: 64)
    #expect(try !home.exists("key") && home.coffer("vault list", with: by(owner)).status == 78, "nothing is made")
    try home.transcript("\(made) \(writer)=writer")
    try home.transcript("vault set a", in: "1", with: by(writer))
    #expect(try home.coffer("vault get a", with: by(reader)).status == 77)
    for (rights, status) in [("reader", Int32(74)), ("writer", 0), ("reader", 74)] {
      try home.transcript("vault grant \(reader)=\(rights) --quiet", with: by(owner))
      try home.transcript("vault get a", with: by(reader), out: "1")
      #expect(try home.coffer("vault set b --generate --quiet", with: by(reader)).status == status, "\(rights)")
    }
    let other = "this role does not own the vault's tables"
    try home.transcript("vault grant \(reader)=none", with: by(writer), err: other, exit: 77)
    try home.transcript("vault grant \(owner)=none", with: by(owner), err: "this role owns the vault's tables", exit: 77)
    try server.sql("GRANT \(group) TO \(writer)")
    try home.transcript(
      "vault grant \(group)=writer \(writer)=none --quiet", with: by(owner),
      err: "\(writer)': this role still has more rights", exit: 77)
    try home.transcript("vault get a", with: by(writer), out: "1")
    try home.transcript(
      "vault grant \(group)=none --json", with: by(owner), out: #"[{"hasMore":false,"rights":"none","role":"\#(group)"}]"# + "\n")
    #expect(try home.coffer("vault get a", with: by(writer)).status == 77)
    #expect(
      try home.coffer("vault grant ada=reader --sql", with: by(owner)).out.hasPrefix(
        "GRANT USAGE ON SCHEMA \(schema) TO \"ada\";\n"))
    let line = "for n in 1 2 3 4 5 6 7 8; do \(Home.coffer) vault grant \(group)=reader --quiet || echo $? & done; wait"
    let ran = try home.program(["/bin/sh", "-c", line], with: by(owner))
    let together = try #require(ran)
    #expect(together.out.isEmpty && together.err.isEmpty, "one waits for the other: \(together)")
    try home.transcript("vault grant ada=reader --vault \(home.path)/file", err: "a file has no roles", exit: 77)
    try home.transcript("init --grant ada=reader --vault \(home.path)/file", err: "a vault in a file has no roles", exit: 64)
  }

  @Test(arguments: [true, false])
  func `a vault that this machine knows is missing and not empty once it is gone`(isShared: Bool) throws {
    let home = try isShared ? Home.withSharedVault() : Home.withVault()
    try home.transcript("set a --secret --quiet", in: "1")
    if isShared {
      try DatabaseServer.shared.sql("ALTER SCHEMA \(home.schema) RENAME TO \(home.schema)_gone")
    } else {
      try FileManager.default.moveItem(atPath: home.vault, toPath: home.vault + ".gone")
    }
    for line in ["list", "list --json", "get a", "show a", "delete a --yes", "vault list", "status"] {
      let answer = try home.coffer(line)
      #expect(
        answer.status == 78 && answer.err.contains("there is no vault"), "\(line): \(answer.status) \(answer.err)")
    }
  }

  @Test
  func `it is backed up to a file, exported to a file and back, imported from and merged`() throws {
    let home = try Home.withSharedVault()
    let server = try DatabaseServer.shared
    try home.transcript("vault set a", in: "1")
    try home.transcript("backup --quiet \(home.path)/copy")
    try home.transcript("vault get a --quiet --vault \(home.path)/copy", out: "1")
    try home.transcript("export --quiet \(home.path)/file --new-key-file \(home.path)/filekey")
    let file = "--vault \(home.path)/file --key-file \(home.path)/filekey"
    try home.transcript("vault get a --quiet \(file)", out: "1")
    let there = server.place("e\(UInt64.random(in: 0 ... .max))")
    #expect(
      try home.coffer("export \(there) --new-key-file \(home.path)/newkey \(file) --json").out.contains(#""items":1"#))
    try home.transcript("vault get a --quiet --vault \(there) --key-file \(home.path)/newkey", out: "1")
    try home.transcript(
      "export \(there) --new-key-file \(home.path)/otherkey \(file)", err: "there is already a vault", exit: 73
    )
    #expect(!home.exists("otherkey"))
    try home.transcript("vault set b --quiet --vault \(there) --key-file \(home.path)/newkey", in: "2")
    try home.transcript(
      "merge --quiet --yes \(there) --other-key-file \(home.path)/newkey", out: "added  b\n")
    try home.transcript("vault get b", out: "2")
    try home.transcript(
      "merge \(home.place.replacing("#", with: "?application_name=x#"))", err: "this is the vault itself", exit: 77)
    try home.transcript(
      "import --quiet --from coffer \(there) --other-key-file \(home.path)/newkey --on-duplicate skip",
      out: "kept  a\nkept  b\n")
  }

  @Test
  func `a place has a name as a path does, and one with a password is named, shown and opened by nobody`() throws {
    let home = try Home.withSharedVault()
    let place = home.place
    home.environment["COFFER_VAULT"] = nil
    try home.transcript("vault use team \(place)", err: "team is the vault at \(place)")
    try home.transcript("vault use", out: "team\t\(place)\n")
    try home.transcript("--vault team vault set a --quiet", in: "1")
    try home.transcript("vault get a", with: ["COFFER_VAULT": "team"], out: "1")
    for bad in ["postgresql://ada:hunter2@db.example.com/team", "postgresql://db.example.com/team?password=hunter2"] {
      for line in [
        "vault list --vault \(bad)", "vault use x \(bad)", "vault join \(bad)", "export \(bad)", "init --vault \(bad)",
      ] {
        let answer = try home.coffer(line)
        #expect(
          answer.status == 64 && answer.err.contains("a password does not belong in a vault's place"), "\(line): \(answer.err)")
        #expect(!answer.err.contains("hunter2") && !answer.err.contains("example"))
      }
      let named = try home.coffer("vault list", with: ["COFFER_VAULT": bad])
      #expect(named.status == 64 && !named.err.contains("hunter2"))
    }
    #expect(try !home.coffer("vault use").out.contains("x\t"))
    try home.transcript(
      "vault list --vault postgresql://h/d#Main", err: "the part after # is not the name of a vault", exit: 64)
    try home.transcript("vault list --vault postgresql://h/d?no=1", err: "libpq does not understand the place", exit: 64)
  }

  @Test
  func `what cannot be reached, and what is not there, have statuses of their own`() throws {
    let home = try Home.onServer()
    try home.transcript("vault list", err: "there is no vault", exit: 78)
    try home.transcript("vault list --json", err: #""kind":"noVault""#, exit: 78)
    let nowhere = "postgresql://coffer@%2Fnowhere/team?coffer_timeout=2"
    for line in ["vault list", "get a", "status", "backup \(home.path)/copy", "init --new-key-file \(home.path)/key"] {
      let answer = try home.coffer("\(line) --json --vault \(nowhere)")
      #expect(answer.status == 75 && answer.err.contains(#""kind":"unreachable""#), "\(line): \(answer.err)")
    }
    #expect(!home.exists("key"))
    let database = home.place.replacing("/postgres", with: "/none")
    try home.transcript("vault list --vault \(database)", err: "does not exist", exit: 77)
    let doctor = try home.coffer("doctor --json --vault \(nowhere)")
    #expect(doctor.status == 2 && doctor.out.contains("the server cannot be reached"))
  }

  @Test
  func `a password is found where libpq looks for it, and repeated nowhere`() throws {
    let server = try DatabaseServer.make()
    let home = try Home.withSharedVault(server)
    try home.transcript("vault set a", in: "1")
    try server.makeRole("ada", password: "hunter2")
    home.environment["COFFER_VAULT"] = home.place.replacing("coffer@", with: "ada@")
    try home.transcript("vault get a", err: "the server wants a password", exit: 77)
    home.environment["PGPASSFILE"] = try home.file("pass", "*:*:*:ada:wrong\n")
    try home.transcript("vault get a", err: "the server refused the connection", exit: 77)
    _ = try home.file("pass", "*:*:*:ada:hunter2\n")
    try home.transcript("vault get a --quiet", out: "1")
    for line in ["status --json", "doctor --json", "vault log --json", "status --paths", "agent install --print"] {
      let answer = try home.coffer(line)
      #expect(!answer.out.contains("hunter2") && !answer.err.contains("hunter2"), "\(line)")
    }
    try home.transcript("unlock --quiet")
    home.locked()
    try home.transcript("vault get a", out: "1")
    try home.transcript("agent stop")
  }

  @Test
  func `libpq is loaded for a place on a server, and for no other`() throws {
    let home = try Home.withSharedVault()
    let file = try Home.withVault()
    func loads(_ home: Home, _ line: String) throws -> Bool {
      let answer = try home.traced(["-e", "trace=openat"], line)
      #expect(answer.status == 0, "\(answer.err)")
      return try home.content("trace").contains("libpq.so")
    }
    #expect(try loads(home, "vault list"))
    for line in ["vault list", "status", "--version", "vault use team \(home.place)"] {
      #expect(try loads(file, line) == false, "\(line)")
    }
  }

  @Test
  func `a change by another machine is watched`() throws {
    let home = try Home.withSharedVault()
    let other = try home.otherMachine()
    try home.transcript("set token --domain coffer", in: "1")
    let names = try ["watch.in", "watch.out", "watch.err"].map { try home.file($0) }
    let child = try Child(
      ["watch"], environment: home.environment,
      opening: [0: (names[0], O_RDONLY), 1: (names[1], O_WRONLY), 2: (names[2], O_WRONLY)])
    defer {
      kill(child.id, SIGINT)
      _ = try? child.wait()
    }
    var number = 0
    try eventually("the change is told") {
      number += 1
      try other.transcript("set token --quiet", in: "\(number)")
      return try String(contentsOfFile: names[1], encoding: .utf8).contains("token: set in vault by another program")
    }
  }
}
