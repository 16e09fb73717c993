import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI
@testable import CofferTerminal

@Suite(.tags(.process), .defaultRun)
struct HistoryCommandTests {
  private func home(throughAgent: Bool = false) throws -> Home {
    let home = try Home.withVault()
    for value in ["one", "two", "three"] { try home.transcript("vault set github ada", in: value) }
    if throughAgent {
      try home.transcript("unlock --quiet")
      home.locked()
    }
    return home
  }

  private func list(_ line: String, in home: Home) throws -> [[String: Any]] {
    try #require(try JSONSerialization.jsonObject(with: home.coffer(line + " --json").bytes) as? [[String: Any]])
  }

  private func kept(_ item: String, in home: Home) throws -> Int {
    try list("vault history \(item)", in: home).count { $0["state"] as? String != "present" }
  }

  @Test(arguments: [false, true])
  func `former values are listed, printed and brought back`(throughAgent: Bool) throws {
    let home = try home(throughAgent: throughAgent)
    let rows = try list("vault history github", in: home)
    #expect(rows.map { $0["revision"] as? Int } == [3, 2, 1] && rows.allSatisfy { $0["value"] == nil })
    #expect(rows.map { $0["state"] as? String } == ["present", "former", "former"])
    let shown = try home.coffer("vault history github ada").out
    #expect(shown.hasPrefix("3\tpresent\t20") && shown.contains("\n1\tformer") && !shown.contains("one"))
    try home.transcript("vault get github --revision 1", out: "one")
    #expect(try home.coffer("vault get github ada --revision 2 --json").out.contains("\"revision\":2,"))
    try home.transcript("vault get github --revision 9", err: "'github/ada': revision 9 is not kept", exit: 1)
    try home.transcript("vault revert github ada 1")
    try home.transcript("vault get github", out: "one")
    try home.transcript("vault revert github 3")
    try home.transcript("vault get github", out: "three")
    #expect(try kept("github", in: home) == 4)
    try home.transcript("vault revert github 77", err: "revision 77 is not kept", exit: 1)
    try home.transcript("vault revert github ada", err: "the last word is not a revision number", exit: 64)
    try home.transcript("vault revert github", err: "restored 'github/ada' to revision 4, as revision 6")
    try home.transcript("vault get github", out: "one")
    try home.transcript("vault history github 1", err: "no item with this name\n  try: coffer get github --revision 1", exit: 1)
    try home.transcript("vault set github ada --no-history", in: "four")
    try home.transcript("vault revert github", err: "'github/ada': no previous version is kept", exit: 1)
    try home.transcript("vault history nobody", err: "no item with this name", exit: 1)
  }

  @Test(.tags(.process), .wholeRun)
  func `ten former values are kept unless an option or a setting says otherwise`() throws {
    let home = try Home.withVault()
    for value in 1...13 { try home.transcript("vault set a", in: "\(value)") }
    #expect(try kept("a", in: home) == 10)
    try home.transcript("vault get a --revision 3", out: "3")
    try home.transcript("vault set a --history 12", in: "14")
    try home.transcript("vault set a", in: "15")
    #expect(try kept("a", in: home) == 12 && list("vault list", in: home)[0]["history"] as? Int == 12)
    try home.transcript("vault set a --no-history", in: "16")
    #expect(try kept("a", in: home) == 0)
    try home.transcript("vault set a", in: "17", err: "")
    #expect(try kept("a", in: home) == 0 && home.coffer("vault get a --revision 16").status == 1)
    try home.transcript("vault set few --history 2", in: "1")
    for value in 2...5 { try home.transcript("vault set few", in: "\(value)") }
    #expect(try kept("few", in: home) == 2)
    try home.transcript("import \(try home.file("env", "X=1")) --from env --service s -q", out: "added  s  X\n")
    try home.transcript("vault set s X", in: "2")
    try home.transcript("vault get s X --revision 1", out: "1")
    try home.transcript("defaults write coffer.settings history.keep 2")
    for value in 1...4 { try home.transcript("vault set b", in: "\(value)") }
    #expect(try kept("b", in: home) == 2)
    try home.transcript("defaults write coffer.settings history.keep 0")
    try home.transcript("vault set b", in: "5")
    #expect(try kept("b", in: home) == 0)
    try home.transcript("defaults write coffer.settings history.keep many")
    try home.transcript("vault set b", in: "6", err: "history.keep of coffer.settings is not a number from 0 to 100")
    try home.transcript("vault set b --history 101", in: "7", err: "--history takes 0 to 100", exit: 64)
    try home.transcript("vault set b --history 1 --no-history", in: "7", err: "give --history or --no-history", exit: 64)
  }

  @Test(arguments: [false, true])
  func `what is deleted comes back with its fields and its past`(throughAgent: Bool) throws {
    let home = try home(throughAgent: throughAgent)
    try home.transcript("vault set github ada --field pin", in: "4711")
    try home.transcript("vault delete github")
    try home.transcript("vault list")
    let deleted = try list("list --deleted", in: home)
    #expect(deleted.count == 1 && deleted[0]["state"] as? String == "deleted" && deleted[0]["account"] as? String == "ada")
    let until = try #require((deleted[0]["until"] as? String).flatMap { Moment.parse($0) })
    #expect((29.9...30.1).contains(until.timeIntervalSinceNow / 86_400))
    #expect(try home.coffer("list --deleted github").out.hasPrefix("github\tada\t"))
    try home.transcript("list --deleted web --json", out: "[]\n")
    try home.transcript("vault get github --revision 1", out: "one")
    try home.transcript("vault undelete github")
    try home.transcript("vault get github", out: "three")
    try home.transcript("vault get github --field pin", out: "4711")
    #expect(try kept("github", in: home) == 2)
    try home.transcript("vault undelete github ada", err: "the item is not deleted", exit: 73)
    try home.transcript("vault undelete web", err: "'web': no deleted item has this name", exit: 1)
    try home.transcript("vault delete github --field pin")
    try home.transcript("vault get github --field pin", err: "no field of that name", exit: 1)
    try home.transcript("vault undelete github ada --field pin")
    try home.transcript("vault get github --field pin", out: "4711")
  }

  @Test
  func `--forever and trash.days 0 leave nothing to bring back`() throws {
    let home = try home()
    try home.transcript("vault delete github --forever")
    try home.transcript("list --deleted")
    try home.transcript("vault undelete github ada", err: "no deleted item has this name", exit: 1)
    try home.transcript("vault set web", in: "x")
    try home.transcript("defaults write coffer.settings trash.days 0")
    try home.transcript("vault delete web")
    try home.transcript("list --deleted --json", out: "[]\n")
    try home.transcript("defaults write coffer.settings trash.days 2")
    try home.transcript("vault set web", in: "x")
    try home.transcript("vault delete web")
    let until = try #require((list("list --deleted", in: home)[0]["until"] as? String).flatMap { Moment.parse($0) })
    #expect((1.9...2.1).contains(until.timeIntervalSinceNow / 86_400))
  }

  @Test
  func `prune removes former and deleted contents, of all items or of some`() throws {
    let home = try home()
    for value in ["a", "b", "c"] { try home.transcript("vault set web", in: value) }
    try home.transcript("vault prune github --keep 1 --json", out: "{\"removed\":1}\n")
    #expect(try kept("github", in: home) == 1 && kept("web", in: home) == 2)
    try home.transcript("vault prune --older-than 1d --json", out: "{\"removed\":0}\n")
    try home.transcript("vault delete web")
    try home.transcript("vault prune --expired --json", out: "{\"removed\":0}\n")
    try home.transcript("vault prune web --keep 0 --json", out: "{\"removed\":3}\n")
    try home.transcript("list --deleted")
    try home.transcript("vault prune --keep 0")
    #expect(try kept("github", in: home) == 0)
    try home.transcript("vault get github", out: "three")
    try home.transcript("vault prune", err: "give one of --older-than, --keep and --expired", exit: 64)
    try home.transcript("vault prune --older-than soon", err: "does not take 'soon'", exit: 64)
  }

  /// The number of records in the vault's file: current, previous and deleted.
  private func records(_ home: Home) throws -> Int {
    let json = try home.coffer("vault verify --json").bytes
    return try #require((JSONSerialization.jsonObject(with: json) as? [String: Int])?["records"])
  }

  @Test
  func `what logout and erase remove leaves no record behind, whatever was kept before`() throws {
    let home = try home()
    try home.transcript("vault delete github --forever")
    let empty = try records(home)
    try home.transcript("login github.com --with-token --quiet", in: "t0k1")
    try home.transcript("login github.com --with-token --quiet", in: "t0k2")
    try home.transcript(
      "vault set github.com default --history 5", in: "t0k3", err: "logins and session values have no history")
    #expect(try kept("github.com", in: home) == 0)
    try home.transcript("logout github.com --quiet")
    #expect(try records(home) == empty && list("list --deleted", in: home).isEmpty)
    try home.transcript("login github.com --with-token --quiet", in: "t0k4")
    try home.transcript("vault delete github.com default")
    #expect(try list("list --deleted", in: home).isEmpty)
    try home.transcript("vault prune --keep 0")
    try home.transcript("vault delete coffer.auth --forever")
    #expect(try records(home) == empty)
    // Items used by git or docker keep their history until these erase them.
    for value in ["p1", "p2"] { try home.transcript("vault set https://git.example ada", in: value) }
    #expect(try records(home) == empty + 2)
    try home.transcript("helper git erase", in: "protocol=https\nhost=git.example\nusername=ada\npassword=p2\n\n")
    #expect(try records(home) == empty && list("list --deleted", in: home).isEmpty)
    for value in ["p1", "p2"] { try home.transcript("vault set docker:https://hub.example ada", in: value) }
    try home.transcript("helper docker erase", in: "https://hub.example")
    #expect(try records(home) == empty && list("list --deleted", in: home).isEmpty)
  }

  @Test(.tags(.process), .wholeRun)
  func `erase and delete --forever remove also what was deleted before and can be brought back`() throws {
    let home = try home()
    try home.transcript("vault delete github --forever")
    let empty = try records(home)
    let git = "protocol=https\nhost=git.example\nusername=ada\n"
    try home.transcript("helper git store", in: git + "password=p1\n\n")
    try home.transcript("vault delete https://git.example")
    try home.transcript("helper git erase", in: git + "password=other\n\n")
    #expect(try list("list --deleted", in: home).count == 1, "another password was refused")
    try home.transcript("helper git erase", in: git + "password=p1\n\n")
    #expect(try records(home) == empty)
    try home.transcript("vault undelete https://git.example ada", err: "no deleted item has this name", exit: 1)
    try home.transcript("vault set docker:https://hub.example ada", in: "p1")
    try home.transcript("vault delete docker:https://hub.example")
    try home.transcript("helper docker erase", in: "https://hub.example")
    #expect(try records(home) == empty)
    for line in ["vault delete web ada --forever", "vault delete web --forever"] {
      for value in ["one", "two"] { try home.transcript("vault set web ada", in: value) }
      try home.transcript("vault set web ada --field pin", in: "4711")
      try home.transcript("vault delete web")
      try home.transcript(line)
      #expect(try records(home) == empty)
      try home.transcript(line, err: "no item with this name", exit: 1)
    }
    try home.transcript("vault set web ada", in: "stays")
    for value in ["1", "2"] { try home.transcript("vault set web --field pin", in: value) }
    try home.transcript("vault delete web --field pin")
    try home.transcript("vault delete web --field pin --forever")
    #expect(try records(home) == empty + 1)
    try home.transcript("vault undelete web ada --field pin", err: "no deleted item has this name", exit: 1)
    try home.transcript("vault get web", out: "stays")
  }

  @Test
  func `a rotation seals former and deleted values again`() throws {
    let home = try home()
    try home.transcript("vault set web", in: "kept")
    try home.transcript("vault delete web")
    #expect(try home.coffer("vault rotate --yes --quiet").status == 0)
    try home.transcript("vault get github --revision 1", out: "one")
    try home.transcript("vault undelete", err: "coffer list --deleted shows the names", exit: 64)
    try home.transcript("vault undelete web")
    try home.transcript("vault get web", out: "kept")
  }

  @Test
  func `status tells what is kept and for how long`() throws {
    let home = try home()
    try home.transcript("vault delete github")
    let told = "10 previous versions are kept per item; deleted items can be brought back for 30 days, now 1"
    #expect(try home.coffer("status --details").out.contains("history     \(told)\n"))
    #expect(try home.coffer("status --details --json").out.contains("\"history\":{\"deleted\":1,\"keep\":10,\"trashDays\":30}"))
  }

  @Test
  func `a terminal is asked before something is deleted, and told how to undo it`() throws {
    let home = try home()
    try home.transcript("vault edit github --label 'CI token'")
    let refusing = try PseudoTerminal()
    let child = try refusing.coffer("vault delete github", in: home)
    refusing.shows("Delete github/ada 'CI token' (changed just now)? [y/N] ")
    refusing.type("n\n")
    refusing.shows("Nothing was deleted")
    #expect(try child.wait() == 64)
    let agreeing = try PseudoTerminal()
    let deleting = try agreeing.coffer("vault delete github", in: home)
    agreeing.shows("[y/N] ")
    // The month may end meanwhile.
    func month() -> String { String(Moment.day(Date().addingTimeInterval(30 * 86_400)).prefix(8)) }
    let before = month()
    agreeing.type("y\n")
    agreeing.showsAll()
    #expect(try deleting.wait() == 0)
    let told = "deleted 'github/ada'; coffer undelete github/ada brings it back until "
    #expect([before, month()].contains { agreeing.shown.contains(told + $0) }, "the terminal shows: \(agreeing.shown)")
    let third = try PseudoTerminal()
    let back = try third.coffer("vault undelete github ada", in: home)
    third.shows("restored 'github/ada'")
    #expect(try back.wait() == 0)
    let fourth = try PseudoTerminal()
    let last = try fourth.coffer("vault delete github --forever", in: home)
    fourth.shows("Delete github/ada 'CI token' (changed just now) for good? [y/N] ")
    fourth.type("y\n")
    fourth.shows("deleted 'github/ada' for good")
    #expect(try last.wait() == 0)
  }

  @Test
  func `a terminal is told what set did, and how to take it back`() throws {
    let home = try Home.withVault()
    _ = try home.file("value", "x")
    for (item, told) in [
      ("github ada", "stored 'github/ada'"),
      ("github ada", "replaced 'github/ada'; coffer revert github/ada 1 brings the old value back"),
      ("github ada --no-history", "replaced 'github/ada'; the old value is gone"), ("'a b'", "stored 'a b'"),
      ("'a b'", "replaced 'a b'; coffer revert 'a b' 1 brings"),
    ] {
      let terminal = try PseudoTerminal()
      let child = try terminal.coffer("vault set \(item) --file \(home.path)/value", in: home)
      terminal.shows(told)
      #expect(try child.wait() == 0)
    }
    let terminal = try PseudoTerminal()
    let child = try terminal.coffer("vault list nothing", in: home)
    terminal.shows("no items")
    #expect(try child.wait() == 0)
  }
}
