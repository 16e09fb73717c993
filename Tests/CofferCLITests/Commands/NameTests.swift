import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI

@Suite(.tags(.process), .defaultRun)
struct NameTests {
  @Test(arguments: [
    ("work/aws/dev/root", "work/aws/dev", "root"), ("github.com/ada", "github.com", "ada"), ("bank", "bank", ""),
    ("https://example.com/a", "https://example.com/a", ""), ("/etc", "/etc", ""), ("coffer://a%2Fb/c", "a/b", "c"),
  ])
  func `the last slash divides a new name, unless it is a URL`(name: String, service: String, account: String) throws {
    let home = try Home.withVault()
    try home.transcript("set \(name)", in: "x")
    try home.transcript("get --service \(service) --account '\(account)'", out: "x")
    try home.transcript("get \(name)", out: "x")
    #expect(try home.coffer("list --json").out.contains(#""service":"\#(service)""#))
  }

  @Test func `import from pass and set make the same item of one path`() throws {
    let home = try Home.withVault()
    try home.transcript(
      "import -q --from json -", in: #"[{"service":"work/aws","account":"root","value":"1"}]"#, out: "added  work/aws  root\n")
    try home.transcript("set work/aws/root", in: "2")
    try home.transcript("get work/aws/root", out: "2")
    #expect(try home.listed() == ["work/aws/root"])
  }

  @Test func `an item of exactly the whole name is that item, and a word that means two is ambiguous`() throws {
    let home = try Home.withVault()
    try home.transcript("set --service a/b", in: "whole")
    try home.transcript("get a/b", out: "whole")
    try home.transcript("set a/b", in: "again")
    #expect(try home.listed() == ["a/b"])
    try home.transcript("set --service a --account b", in: "divided")
    try home.transcript("get a/b", err: "this is both a service and an item of the service 'a'", exit: 2)
    try home.transcript("get a b", out: "divided")
    try home.transcript("set work/", in: "x", err: "ends with a slash", exit: 64)
    try home.transcript("get --service a", err: "did you mean a/b?", exit: 1)
  }

  @Test func `names of hosts have no case, other names do`() throws {
    let home = try Home.withVault()
    try home.transcript("set GitHub.com/ada", in: "1")
    try home.transcript("get github.com", out: "1")
    try home.transcript("get GITHUB.com/ada", out: "1")
    try home.transcript("set github.COM/ada", in: "2")
    try home.transcript("set --service GITHUB.com --account ada", in: "3")
    #expect(try home.listed() == ["GitHub.com/ada"])
    try home.transcript("get GitHub.com/Ada", err: "no item", exit: 1)
    try home.transcript("set Bank", in: "3")
    try home.transcript("get bank", err: "did you mean Bank?", exit: 1)
  }

  @Test func `a part of a name is enough for a person, and in a script it is a hint`() throws {
    let home = try Home.withVault()
    try home.transcript("set gitlab.com/ada", in: "1")
    try home.transcript("get lab", err: "did you mean gitlab.com?", exit: 1)
    let terminal = try PseudoTerminal()
    let child = try terminal.coffer("get lab", in: home)
    terminal.shows("using gitlab.com/ada for 'lab'")
    terminal.shows("1\r\n")
    #expect(try child.wait() == 0)
    let former = try PseudoTerminal()
    let second = try former.coffer("get lab --revision 1", in: home)
    former.shows("1\r\n")
    #expect(try second.wait() == 0)
    try home.transcript("get nobody --revision 1", err: "no item with this name", exit: 1)
  }

  @Test(arguments: [("get lab", 1), ("run -e A=coffer://lab -- env", 125)])
  func `a part of a name is not enough at a terminal where a program gets the value`(line: String, status: Int32) throws {
    let home = try Home.withVault()
    try home.transcript("set gitlab.com/ada", in: "hush")
    let (terminal, out) = (try PseudoTerminal(), try home.file("out"))
    let child = try Child(
      Home.words(line), environment: home.environment,
      opening: [0: (terminal.path, O_RDWR), 1: (out, O_WRONLY), 2: (terminal.path, O_RDWR)])
    terminal.shows("gitlab.com")
    #expect(try child.wait() == status && !home.content("out").contains("hush"))
  }

  @Test func `a new item whose name so far found another is asked about at a terminal, and noted in a script`() throws {
    let home = try Home.withVault()
    try home.transcript("set github.com/me --label Code", in: "1")
    for name in ["github.com", "code"] {
      let terminal = try PseudoTerminal()
      let child = try terminal.coffer("set \(name) --generate", in: home)
      terminal.shows("github.com/me exists. Store another item \(name)? [y/N]")
      terminal.type("n\n")
      terminal.showsAll()
      #expect(try child.wait() == 77 && !terminal.shown.contains("generated"))
    }
    try home.transcript("set github.com", in: "2", err: "'github.com' is a new item beside 'github.com/me'")
    #expect(try home.listed() == ["github.com", "github.com/me Code"])
  }

  @Test func `an item named by its service gets a service as its new name, and keeps its account`() throws {
    let home = try Home.withVault()
    try home.transcript("set web/a.example/ada", in: "1")
    for (words, name) in [
      ("web/a.example web/b.example", "web/b.example/ada"), ("web/b.example b/", "b/web/b.example/ada"),
      ("b/web/b.example/ada c/ada", "c/ada"), ("c c/bob", "c/bob"),
    ] {
      try home.transcript("rename \(words)")
      #expect(try home.listed() == [name])
    }
    try home.transcript("set alpha", in: "2")
    try home.transcript("rename alpha c/")
    #expect(try home.listed().sorted() == ["c/alpha", "c/bob"])
  }

  @Test func `list of a service is that service and all below it`() throws {
    let home = try Home.withVault()
    for name in ["work/aws/root", "work/x", "workshop/y", "other/z"] { try home.transcript("set \(name)", in: "v") }
    #expect(try home.listed("list work") == ["work/x", "work/aws/root"])
    #expect(try home.listed("list work/") == ["work/x", "work/aws/root"])
    #expect(try home.listed("list work/aws") == ["work/aws/root"])
    #expect(try home.listed("list nothing") == [])
  }

  @Test func `a folder is renamed and deleted as a whole, all or none`() throws {
    let home = try Home.withVault()
    for name in ["work/aws/root", "work/x", "workshop/y", "old/x"] { try home.transcript("set \(name)", in: name) }
    try home.transcript("rename work/ old/", err: "'old/x': the item already exists", exit: 73)
    #expect(try home.listed() == ["old/x", "work/x", "work/aws/root", "workshop/y"])
    try home.transcript("rename work/ new/")
    #expect(try home.listed() == ["new/x", "new/aws/root", "old/x", "workshop/y"])
    try home.transcript("get new/aws/root", out: "work/aws/root")
    #expect(try home.coffer("history new/x").status == 0)
    for line in ["delete new/", "show new/"] {
      try home.transcript(
        line, err: "this is a folder, not an item\n  try: coffer list new/ shows its items, coffer delete -r new/", exit: 1)
    }
    try home.transcript("delete -r nothing/", err: "the vault has no items below this name", exit: 1)
    try home.transcript("delete -r new")
    #expect(try home.listed() == ["old/x", "workshop/y"])
    try home.transcript("undelete new/")
    #expect(try home.listed() == ["new/x", "new/aws/root", "old/x", "workshop/y"])
    try home.transcript("delete new/aws/root --forever")
    try home.transcript("rename old/x gone/x")
    try home.transcript("copy gone/x kept/x")
    #expect(try home.listed() == ["gone/x", "kept/x", "new/x", "workshop/y"])
  }

  @Test func `a folder comes back in as many commits as an item`() throws {
    let home = try Home.withVault()
    for name in ["one/a", "two/a", "two/b"] { try home.transcript("set \(name)", in: name) }
    for folder in ["one", "two"] { try home.transcript("delete -r \(folder)") }
    func generation() throws -> Int {
      let answer = try home.coffer("backup --json \(home.path)/\(UUID().uuidString)")
      return try #require(answer.out.firstMatch(of: /"generation":(\d+)/).flatMap { Int($0.1) }, "\(answer)")
    }
    var commits: [Int] = []
    for folder in ["one/", "two/"] {
      let before = try generation()
      try home.transcript("undelete \(folder)")
      commits.append(try generation() - before)
    }
    #expect(commits[0] == commits[1])
    #expect(try home.listed() == ["one/a", "two/a", "two/b"])
  }

  @Test func `the top folder is dropped by a slash, unless an item would lose its service`() throws {
    let home = try Home.withVault()
    for name in ["web/a.example/ada", "web/b/x"] { try home.transcript("set \(name)", in: "v") }
    try home.transcript("rename web/ ''", err: "or give / for the top", exit: 64)
    try home.transcript("rename web/ /")
    #expect(try home.listed() == ["a.example/ada", "b/x"])
    try home.transcript("rename b/ /", err: "'b/x' is in b/ itself, and would have no service at the top", exit: 64)
  }

  @Test func `a whole account, or the end of a name behind a slash, goes before another part, for history too`() throws {
    let home = try Home.withVault()
    for name in ["work/new", "work/newer", "job/db/prod"] { try home.transcript("set \(name)", in: name) }
    try home.transcript("get db/prod", err: "did you mean job/db/prod?", exit: 1)
    for (line, name) in [("get new", "work/new"), ("get db/prod", "job/db/prod"), ("history newe", "work/newer")] {
      let terminal = try PseudoTerminal()
      let child = try terminal.coffer(line, in: home)
      terminal.shows("using \(name) for '")
      terminal.showsAll()
      #expect(try child.wait() == 0)
    }
    #expect(try home.listed("find job/") == ["job/db/prod"])
    #expect(try home.listed("find db/PR") == ["job/db/prod"])
  }

  @Test func `a folder is not renamed to names that two of its items need`() throws {
    let home = try Home.withVault()
    for name in ["a/x", "a/b/x"] { try home.transcript("set \(name)", in: name) }
    try home.transcript("rename a/ a/b/", err: "'a/b/x': two items of the folder need this name", exit: 73)
    try home.transcript("rename a/ a/", err: "the folder already has that name", exit: 64)
    try home.transcript("rename a/ c", err: "end the new name with a slash too", exit: 64)
    #expect(try home.listed() == ["a/x", "a/b/x"])
  }

  @Test func `an item moves or is copied into a folder under its account`() throws {
    let home = try Home.withVault()
    try home.transcript("set a/x", in: "1")
    try home.transcript("rename a/x b/")
    try home.transcript("copy b/x c/")
    try home.transcript("rename c/x //", err: "where an item has no service", exit: 64)
    #expect(try home.listed() == ["b/x", "c/x"])
    try home.transcript("rename c/x x")
    #expect(try home.listed() == ["b/x", "x"])
  }

  @Test func `a folder's host has no case, its other parts do`() throws {
    let home = try Home.withVault()
    for name in ["github.com/ada", "github.com/Foo/x", "work/a.b/q"] { try home.transcript("set \(name)", in: "v") }
    for word in ["github.com/foo", "Work"] { #expect(try home.listed("list \(word)") == []) }
    try home.transcript("rename GITHUB.com/ gh/")
    #expect(try home.listed() == ["gh/ada", "gh/Foo/x", "work/a.b/q"])
  }

  @Test func `a folder that is too large for the agent is renamed in this process`() throws {
    let home = try Home.withVault()
    let items = (0...4096).map { #"{"service":"work","account":"\#($0)","value":"v"}"# }.joined(separator: ",")
    #expect(try home.coffer("import -q --from json -", in: Data("[\(items)]".utf8)).status == 0)
    try home.transcript("unlock --quiet")
    try home.transcript("rename work/ old/", err: "does not take this many items at once")
    #expect(try home.coffer("list old/").out.split(separator: "\n").count == 4097)
  }

  @Test func `a terminal is asked with a count before a folder goes`() throws {
    let home = try Home.withVault()
    for name in ["work/a", "work/b"] { try home.transcript("set \(name)", in: "v") }
    for (line, question, status) in [
      ("delete -r work/", "Delete 2 items below work/?", 64),
      ("rename work/ old/", "Rename 2 items below work/ to old/?", 77),
    ] {
      let terminal = try PseudoTerminal()
      let child = try terminal.coffer(line, in: home)
      terminal.shows(question)
      terminal.type("n\n")
      terminal.showsAll()
      #expect(try child.wait() == status)
    }
    #expect(try home.listed() == ["work/a", "work/b"])
    for (line, said) in [
      ("delete -r work", "deleted 2 items below work/; coffer undelete work/ brings them back"),
      ("undelete work/", "restored 2 items below work/"),
    ] {
      let terminal = try PseudoTerminal()
      let child = try terminal.coffer(line, in: home)
      terminal.shows("2 items below work/?")
      terminal.type("y\n")
      terminal.shows(said)
      #expect(try child.wait() == 0)
    }
    #expect(try home.listed() == ["work/a", "work/b"])
  }

  @Test(arguments: [
    ("explain x", "coffer show NAME"), ("keys s.json", "coffer doctor --keys SCHEMA"), ("env", "coffer status --paths"),
    ("uninstall", "coffer install --remove"), ("credential git get", "coffer helper"), ("auth login h", "coffer login"),
    ("auth logout h", "coffer logout"), ("auth token h", "coffer token"), ("auth status", "coffer status"),
    ("auth refresh", "coffer token --fresh"), ("auth switch h", "coffer login HOST --account NAME"),
    ("auth provider list", "coffer provider"), ("auth setup-git", "coffer install --git"), ("vault init", "coffer init"),
    ("vault export f", "coffer export"), ("vault import f", "coffer import"), ("vault backup f", "coffer backup"),
    ("vault restore f", "coffer restore"), ("vault merge f", "coffer merge"), ("vault status", "coffer status"),
    ("vault deleted", "coffer list --deleted"), ("vault name list", "coffer vault use"), ("defaults watch d", "coffer watch"),
    ("defaults explain d k", "coffer show KEY --domain DOMAIN"), ("agent start", "coffer agent run --detach"),
    ("agent status", "coffer status"), ("provider show x", "coffer provider list"), ("--json --home d vault init", "coffer init"),
    ("secret-service uninstall", "coffer secret-service install --remove"), ("grep x", "coffer find TEXT"),
    ("git push", "coffer merge OTHER"), ("pull", "coffer vault use NAME PLACE"), ("open x", "coffer show NAME --open"),
    ("add item x", "coffer set NAME"), ("undo x", "coffer revert NAME"), ("-c x", "coffer get NAME -c"),
    ("otp add x", "coffer otp NAME --set"), ("help recovery-code", "coffer help unlocking"),
  ])
  func `a retired word gets an error that names the new one`(line: String, new: String) throws {
    let answer = try Home().coffer(line)
    #expect(answer.status == 64 && answer.err.contains("there is no command '") && answer.err.contains(new), "\(answer)")
  }
}
