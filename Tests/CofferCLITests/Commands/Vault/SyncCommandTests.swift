import CofferTestSupport
import Foundation
import SystemPackage
import Testing

/// `vault sync` and `vault clone`, over a folder and over a real repository of git's.
@Suite(.tags(.process), .defaultRun)
struct SyncCommandTests {
  private let store: TestFolder
  private var remote: String { store.path.string + "/r" }

  init() throws {
    store = try TestFolder("store")
    try FileManager.default.createDirectory(atPath: remote, withIntermediateDirectories: true)
  }

  /// A second machine with the vault of `desk`.
  private func clone(_ desk: Home, _ words: String = "--as lap") throws -> Home {
    let lap = try Home()
    lap.environment["COFFER_KEY_FILE"] = desk.path + "/key"
    try lap.transcript("vault clone \(remote) \(words) -q", out: "cloned 1 item, generation 1, put by desk\n")
    return lap
  }

  private func machines() throws -> (desk: Home, lap: Home) {
    let desk = try Home.withVault()
    try desk.transcript("vault set web ada", in: "first")
    try desk.transcript("vault sync \(remote) --as desk", out: "put: 1 item, generation 1, at \(remote)\n")
    let lap = try clone(desk)
    try lap.transcript("vault sync", out: "in step: \(remote)\n")
    return (desk, lap)
  }

  @Test func `a second machine clones the vault, each gets the changes of the other, and a conflict names the way back`() throws {
    let (desk, lap) = try machines()
    try lap.transcript("vault get web ada", out: "first")
    try lap.transcript("vault set new bob -q", in: "of lap")
    let put = try lap.coffer("vault sync")
    #expect(put.status == 0 && put.out.hasPrefix("put: 2 items, generation ") && put.err.isEmpty, "\(put)")
    let taken = try desk.coffer("vault sync")
    #expect(taken.out.hasPrefix("taken from lap: 1 new\n") && taken.err.isEmpty, "\(taken)")
    try desk.transcript("vault get new bob", out: "of lap")
    try desk.transcript("vault set new bob -q", in: "desk's")
    #expect(try desk.coffer("vault sync").out.hasPrefix("put: 2 items"))
    try lap.transcript("vault set new bob -q", in: "lap's")
    let trial = try lap.coffer("vault sync --dry-run")
    #expect(
      trial.out.contains("would take from desk: 1 in conflict\n") && trial.err.contains("nothing was changed (--dry-run)"),
      "\(trial)")
    try lap.transcript("vault get new bob", out: "lap's")
    let joined = try lap.coffer("vault sync")
    #expect(joined.out.contains("taken from desk: 1 in conflict\n"), "\(joined)")
    let remark = try #require(
      joined.err.firstMatch(
        of: /'new\/bob' was changed in both: this vault's value stays; coffer revert new\/bob (\d+) brings the other one back/))
    _ = try desk.coffer("vault sync")
    for home in [desk, lap] {
      try home.transcript("vault get new bob", out: "lap's")
      try home.transcript("vault get new bob --revision \(remark.1)", out: "desk's")
    }
  }

  @Test func `machines in step need no secret and change nothing`() throws {
    let (desk, lap) = try machines()
    for home in [desk, lap] {
      _ = try home.coffer("vault sync -q")
      home.environment["COFFER_KEY_FILE"] = nil
      let before = try (
        Data(contentsOf: URL(fileURLWithPath: home.vault)), FileManager.default.subpathsOfDirectory(atPath: remote)
      )
      try home.transcript("vault sync --no-agent", out: "in step: \(remote)\n")
      #expect(try Data(contentsOf: URL(fileURLWithPath: home.vault)) == before.0)
      #expect(try FileManager.default.subpathsOfDirectory(atPath: remote) == before.1)
    }
  }

  @Test func `an older remote is refused with 66, and accepted on purpose`() throws {
    let (desk, lap) = try machines()
    try FileManager.default.copyItem(atPath: remote, toPath: remote + "-old")
    try desk.transcript("vault set web ada -q", in: "second")
    #expect(try desk.coffer("vault sync").status == 0)
    #expect(try lap.coffer("vault sync").status == 0)
    try FileManager.default.removeItem(atPath: remote)
    try FileManager.default.copyItem(atPath: remote + "-old", toPath: remote)
    let before = try Data(contentsOf: URL(fileURLWithPath: lap.vault))
    try lap.transcript("vault sync", err: "put by 'desk', is missing", exit: 66)
    #expect(try Data(contentsOf: URL(fileURLWithPath: lap.vault)) == before)
    #expect(try lap.coffer("vault sync \(remote) --accept").status == 0)
    #expect(try desk.coffer("vault sync").status == 0)
    try desk.transcript("vault get web ada", out: "second")
    try lap.transcript("vault sync --accept", err: "name the remote that --accept is for", exit: 64)
  }

  @Test func `status lists remotes and machines without a secret, and forget ends the memory`() throws {
    let (desk, _) = try machines()
    desk.environment["COFFER_KEY_FILE"] = nil
    let told = try desk.coffer("vault sync --status --no-agent")
    #expect(
      told.status == 0 && told.out.hasPrefix("\(remote)  in step just now\n") && told.out.contains("generation 1"), "\(told)")
    let json = try desk.coffer("vault sync --status --json")
    #expect(json.out.contains(#""automatic":false"#) && json.out.contains(#""remote":"\#(remote)""#), "\(json)")
    try desk.transcript("vault sync \(remote) --auto on", err: "the agent syncs with")
    #expect(try desk.coffer("vault sync --status").out.contains("in step just now, automatic"))
    try desk.transcript("vault sync \(remote) --forget", err: "forgot \(remote)")
    try desk.transcript("vault sync \(remote) --forget", err: "does not remember", exit: 1)
    try desk.transcript("vault sync", err: "no remote is remembered", exit: 64)
  }

  @Test func `a clone is refused where a vault is, without the secret, and for an identity without an invitation`() throws {
    let (desk, lap) = try machines()
    try lap.transcript("vault clone \(remote)", err: "there is already a vault", exit: 73)
    let other = try Home.withVault()
    let guest = try Home()
    guest.environment["COFFER_KEY_FILE"] = other.path + "/key"
    let refused = try guest.coffer("vault clone \(remote)")
    #expect(refused.status == 77 && !guest.exists("data/vault.sqlite"), "\(refused)")
    try guest.transcript("vault sync \(remote)", err: "coffer vault clone REMOTE brings the vault", exit: 78)
    let (member, recipient) = try Home.withIdentity()
    let invitation = try desk.changesKey("vault slot add --recipient \(recipient) --label member")
    #expect(try desk.coffer("vault sync").status == 0)
    let unproven = try member.coffer("vault clone \(remote)")
    #expect(unproven.status == 66 && !member.exists("data/vault.sqlite"), "\(unproven)")
    let proven = try member.coffer("vault clone \(remote) \(invitation)")
    #expect(proven.status == 0 && proven.out.hasPrefix("cloned 1 item"), "\(proven)")
    try member.transcript("vault get web ada", out: "first")
    try FileManager.default.createDirectory(atPath: remote + "-empty", withIntermediateDirectories: true)
    try guest.transcript("vault clone \(remote)-empty", err: "no vault lies there", exit: 1)
    try guest.transcript("vault clone \(remote)-none", err: "\(remote)-none", exit: 75)
  }

  @Test func `a repository of git's is a remote, and a program gets the effects in JSON`() throws {
    let git = try Child(
      ["init", "--quiet", "--bare", remote], environment: ["PATH": "/usr/bin:/bin"], opening: [:], program: "/usr/bin/git")
    #expect(try git.wait() == 0)
    let desk = try Home.withVault()
    try desk.transcript("vault set web ada", in: "first")
    let first = try desk.coffer("vault sync \(remote) --json")
    #expect(first.out.contains(#""items":1,"put":1,"remote":"\#(remote)","taken":[]"#), "\(first)")
    let lap = try Home()
    lap.environment["COFFER_KEY_FILE"] = desk.path + "/key"
    let cloned = try lap.coffer("vault clone \(remote) --json")
    #expect(cloned.out.contains(#""generation":1"#) && cloned.out.contains(#""items":1"#), "\(cloned)")
    try desk.transcript("vault delete web ada --yes -q")
    #expect(try desk.coffer("vault sync").status == 0)
    let taken = try lap.coffer("vault sync --json")
    #expect(taken.out.contains(#""deleted":[{"account":"ada","service":"web"}]"#), "\(taken)")
    try lap.transcript("vault undelete web ada -q")
    try lap.transcript("vault get web ada", out: "first")
  }

  @Test(arguments: [
    ("https://ada:hunter2@host/x", "password"), ("ftp://host/x", "protocol"), ("", "empty"),
  ])
  func `a wrong address is refused with 64 and not repeated`(_ address: String, _ why: String) throws {
    let home = try Home.withVault()
    let told = try home.coffer("vault sync '\(address)'")
    #expect(told.status == 64 && told.err.contains(why) && !told.err.contains("hunter2"), "\(told)")
  }
}
