import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI

@Suite(.tags(.process), .defaultRun)
struct MergeCommandTests {
  /// A home with an item, and one that has the same item by a merge.
  private static func twins() throws -> (here: Home, there: Home) {
    let (here, there) = (try Home.withVault(), try Home.withVault())
    try here.transcript("vault set web ann --label L --attribute k=v", in: "first")
    try there.transcript(merge(here), out: "added  web  ann\n")
    return (here, there)
  }

  private static func merge(_ other: Home, _ options: String = "") -> String {
    "merge \(other.path)/data/vault.sqlite --other-key-file \(other.path)/key\(options.isEmpty ? "" : " \(options)")"
  }

  @Test func `what is newer comes, the other value of a conflict is kept, and a second merge has nothing to do`() throws {
    let (here, there) = try Self.twins()
    try there.transcript("vault set web ann", in: "theirs")
    try there.transcript("vault set new bob", in: "bob")
    try there.transcript("vault set new bob --field pin", in: "1")
    try here.transcript("vault set web ann", in: "ours")
    try here.transcript(
      Self.merge(there, "--dry-run"), out: "added     new  bob\nconflict  web  ann\n",
      err:
        "coffer: note: 'web/ann' was changed in both: this vault's value stays\ncoffer: note: nothing was changed (--dry-run)\n"
    )
    #expect(try here.listed() == ["web/ann L"])
    try here.transcript(
      Self.merge(there), out: "added     new  bob\nconflict  web  ann\n",
      err: "'web/ann' was changed in both: this vault's value stays; coffer revert web/ann 2 brings the other one back\n")
    try here.transcript("vault get web", out: "ours")
    try here.transcript("vault get web --revision 2", out: "theirs")
    try here.transcript("vault get new --field pin", out: "1")
    let generation = try here.generation()
    try here.transcript(Self.merge(there))
    #expect(try here.generation() == generation)
    try there.transcript(Self.merge(here, "-q"), out: "updated  web  ann\n")
    let lists = try [here, there].map { home in try home.items() }
    #expect(lists[0] == lists[1] && lists[0].count == 2)
    for home in [here, there] { #expect(try home.coffer("vault verify").status == 0) }
  }

  @Test func `renames and deletions are followed, and told`() throws {
    let (here, there) = try Self.twins()
    try here.transcript("vault set gone", in: "1")
    try there.transcript(Self.merge(here), out: "added  gone\n")
    try there.transcript("vault rename web ann --to-account eve")
    try there.transcript("vault delete gone --yes")
    try here.transcript(
      Self.merge(there), out: "renamed  web   eve\ndeleted  gone\n", err: "coffer: note: 'web/ann' becomes 'web/eve'\n")
    #expect(try here.listed() == ["web/eve L"])
    try here.transcript("vault undelete gone")
    try here.transcript("vault get gone", out: "1")
    try there.transcript(Self.merge(here), out: "added  gone\n")
  }

  @Test func `of two names of which no time tells the later one, it is told which stays`() throws {
    let (here, there) = try Self.twins()
    try here.transcript("vault rename web ann --to-account abe")
    try there.transcript("vault edit web ann\((1..<64).map { " --attribute k\($0)=v" }.joined())")
    let answer = try here.coffer(Self.merge(there, "--dry-run --json"))
    let undated = #""undated":[{"from":{"account":"abe","service":"web"},"to":{"account":"ann","service":"web"}}]"#
    #expect(answer.out.contains(undated), "\(answer)")
    try here.transcript(
      Self.merge(there), out: "updated  web  ann\nrenamed  web  ann\n",
      err: "kept the name 'web/ann': nothing shows that 'web/abe' is newer\n")
    try there.transcript(Self.merge(here))
  }

  @Test func `the answer in JSON names what was done, what was left out and why`() throws {
    let (here, there) = try Self.twins()
    try there.transcript("login host.example --account ada --with-token", in: "token", err: "logged in")
    try there.transcript("vault set web ann", in: "theirs")
    try here.transcript("vault set web ann", in: "ours")
    let answer = try here.coffer(Self.merge(there, "--json"))
    let reason = "a login or session value"
    #expect(
      answer.out == """
        {"added":[],"conflicts":[{"account":"ann","keptRevision":2,"service":"web","winner":"this"}],"deleted":[],"kept":[],"leftOut":\
        [{"count":1,"entry":"coffer.auth/host.example","reason":"\(reason)"},{"count":1,"entry":"host.example/ada","reason":"\(reason)"}],\
        "renamed":[],"same":0,"updated":[]}

        """, "\(answer)")
    #expect(answer.status == 0 && answer.err.isEmpty)
    try here.transcript("status --logins", err: "nobody is logged in", exit: 1)
  }

  @Test func `no value of the past is kept where none shall be`() throws {
    let (here, there) = try Self.twins()
    try there.transcript("vault set web ann", in: "theirs")
    try here.transcript(Self.merge(there, "--no-history"), out: "updated  web  ann\n")
    #expect(try here.coffer("vault get web --revision 1").status == 1)
    try here.transcript("vault get web", out: "theirs")
  }

  @Test func `the vault itself, by whatever way, a folder, and what is none are refused`() throws {
    let (here, there) = try Self.twins()
    let own = "\(here.path)/data/vault.sqlite"
    symlink(own, "\(here.path)/link")
    link(own, "\(here.path)/hard")
    try here.transcript("vault use -q me \(own)")
    for path in [own, "\(here.path)/link", "\(here.path)/hard", "me"] {
      try here.transcript("merge \(path) --other-key-file \(here.path)/key", err: "this is the vault itself", exit: 77)
    }
    unlink("\(here.path)/hard")
    _ = try here.file("text", "no vault")
    _ = try here.file("cut", Data(try Data(contentsOf: URL(filePath: "\(there.path)/data/vault.sqlite")).prefix(5000)))
    for (path, status) in [("text", 65), ("cut", 65), ("none", 78), ("data", 77)] {
      let answer = try here.coffer("merge \(here.path)/\(path) --other-key-file \(there.path)/key")
      #expect(answer.status == Int32(status) && answer.out.isEmpty, "\(path): \(answer)")
    }
    try here.transcript(
      Self.merge(there).replacing("\(there.path)/key", with: "\(here.path)/key"), err: "wrong key file", exit: 77)
    let locked = Self.merge(there).replacing(" --other-key-file \(there.path)/key", with: "")
    try here.transcript(locked, err: "the other vault is locked", exit: 69)
    #expect(try here.generation() == 2)
  }

  @Test func `an older copy, one that went its own way under a later key, and a stranger's vault are read as they are`() throws {
    let here = try Home.withVault()
    try here.transcript("vault set a", in: "old")
    try here.transcript("backup \(here.path)/older -q")
    try FileManager.default.copyItem(atPath: "\(here.path)/older", toPath: "\(here.path)/fork")
    let elsewhere = try Home()
    let fork = "--vault \(here.path)/fork --key-file \(here.path)/key"
    try elsewhere.transcript("vault set b -q \(fork)", in: "forked")
    try elsewhere.changesKey("vault rotate --yes --quiet \(fork)")
    try here.transcript("vault set a", in: "new")
    try here.transcript("merge \(here.path)/older --other-key-file \(here.path)/key")
    try here.transcript("merge \(here.path)/fork --other-key-file \(here.path)/key", out: "added  b\n")
    try here.transcript("vault get a", out: "new")
    let stranger = try Home.withVault()
    try stranger.transcript("vault set a", in: "theirs")
    try here.transcript(Self.merge(stranger), out: "conflict  a\n", err: "the other vault's value is taken")
    try here.transcript("vault get a", out: "theirs")
    try here.transcript("vault get b", out: "forked")
    try here.transcript("--vault \(here.path)/older vault get a", out: "old", err: "a copy of vault")
  }

  @Test(
    .tags(.process), .wholeRun,
    arguments: ["merge FILE --other-key-file KEY", "import FILE --other-key-file KEY --on-duplicate skip"])
  func `a copy under an older key is taken over only if somebody says so, and one of another history never`(line: String) throws {
    let here = try Home.withVault()
    try here.transcript("vault set a", in: "old")
    try here.transcript("backup \(here.path)/older -q")
    try FileManager.default.copyItem(atPath: "\(here.path)/older", toPath: "\(here.path)/fork")
    let elsewhere = try Home()
    let fork = "--vault \(here.path)/fork --key-file \(here.path)/key"
    try elsewhere.transcript("vault set b -q \(fork)", in: "forged")
    try elsewhere.changesKey("vault rotate --yes --quiet \(fork)")
    try here.transcript("vault delete a --forever")
    try here.changesKey("vault rotate --yes --quiet")
    let words = { (file: String) in
      line.replacing("FILE", with: "\(here.path)/\(file)").replacing("KEY", with: "\(here.path)/key")
    }
    let before = try here.generation()
    for more in ["", " --older-key", " --dry-run", " --yes"] {
      let answer = try here.coffer(words("fork") + more)
      #expect(answer.status == 66 && answer.err.contains("not of this vault's history"), "\(answer.err)")
    }
    try here.transcript(words("older"), err: "--older-key", exit: 66)
    let terminal = try PseudoTerminal()
    let child = try terminal.coffer(words("older"), in: here)
    terminal.shows("Use its items anyway?")
    terminal.type("n\n")
    terminal.showsAll()
    #expect(try child.wait() == 66)
    #expect(try here.generation() == before)
    let yes = try PseudoTerminal()
    let agreed = try yes.coffer(words("older") + " --dry-run", in: here)
    yes.shows("Use its items anyway?")
    yes.type("y\n")
    yes.showsAll()
    #expect(try agreed.wait() == 0)
    #expect(try here.coffer(words("older") + " --older-key").status == 0)
    try here.transcript("vault get a", out: "old")
    // In the other direction it is a later key of the vault's own history.
    try here.transcript("backup \(here.path)/newer -q")
    try elsewhere.transcript(
      words("newer") + " --vault \(here.path)/older --key-file \(here.path)/key --dry-run",
      out: try elsewhere.coffer(
        words("newer") + " --vault \(here.path)/older --key-file \(here.path)/key --dry-run"
      ).out, err: "nothing was changed")
  }

  @Test func `what opens this vault opens a copy of it, and nobody is asked for that again`() throws {
    let home = try Home.withVault()
    try home.transcript("vault set web ann", in: "1")
    try home.transcript("backup \(home.path)/copy -q")
    try home.transcript("vault delete web ann --forever")
    try home.transcript("merge \(home.path)/copy", out: "added  web  ann\n")
    let (other, _) = try Home.withPassphrase("plum sofa kite unit")
    try other.transcript("vault set web bob --passphrase-file \(other.path)/pass -q", in: "2")
    try other.transcript("backup \(other.path)/copy -q")
    let terminal = try PseudoTerminal()
    let child = try terminal.coffer("merge \(other.path)/copy", in: other)
    terminal.shows("Passphrase of")
    terminal.type("plum sofa kite unit\n")
    terminal.showsAll()
    #expect(try child.wait() == 0)
    #expect(terminal.shown.matches(of: /Passphrase of/).count == 1)
    // An unrelated vault needs its own secret, as before.
    try home.transcript("merge \(other.path)/copy", err: "the other vault is locked", exit: 69)
    try home.transcript(
      "merge \(other.path)/copy --other-passphrase-file \(other.path)/pass", out: "added  web  bob\n")
  }

  @Test func `a person sees the plan, is asked, and may say no or interrupt`() throws {
    let (here, there) = try Self.twins()
    try there.transcript("vault set web ann", in: "theirs")
    try there.transcript("vault set new", in: "1")
    try here.transcript("vault set web ann", in: "ours")
    here.environment.merge(["TERM": "dumb", "LANG": "C.UTF-8"]) { $1 }
    func answer(_ line: String, _ reply: String?) throws -> (text: String, status: Int32) {
      let terminal = try PseudoTerminal()
      let child = try terminal.coffer(line, in: here)
      if let reply {
        terminal.shows("Merge them? [y/N]")
        terminal.type(reply)
      }
      terminal.showsAll()
      return (terminal.shown.replacing("\r\n", with: "\n"), try child.wait())
    }
    let no = try answer(Self.merge(there), "n\n")
    let plan = """
      \(there.path)/data/vault.sqlite, another vault: 2 items
        new          1
        in conflict  1  this vault's stays
        'web/ann' was changed in both: this vault's value stays
      Merge them? [y/N]
      """
    #expect(no.text.contains(plan) && no.text.contains("Nothing was merged") && no.status == 77, "\(no)")
    let interrupted = try answer(Self.merge(there), "\u{3}")
    #expect(interrupted.status == 128 + SIGINT, "\(interrupted)")
    let trial = try answer(Self.merge(there, "--dry-run"), nil)
    #expect(trial.text.contains("would merge: 1 new, 1 in conflict\n") && trial.status == 0, "\(trial)")
    #expect(try here.generation() == 3)
    let yes = try answer(Self.merge(there), "y\n")
    #expect(yes.text.hasSuffix("merged: 1 new, 1 in conflict\n") && yes.status == 0, "\(yes)")
    let again = try answer(Self.merge(there), nil)
    #expect(again.text.contains("nothing to merge") && again.status == 0, "\(again)")
  }

  @Test func `Coffer's own items are merged, and neither listed nor counted`() throws {
    let (here, there) = try Self.twins()
    #expect(try there.coffer("ssh new github").status == 0)
    here.environment.merge(["TERM": "dumb", "LANG": "C.UTF-8"]) { $1 }
    let terminal = try PseudoTerminal()
    let child = try terminal.coffer(Self.merge(there, "--dry-run"), in: here)
    terminal.showsAll()
    #expect(terminal.shown.contains("another vault: 2 items\r\n"), "\(terminal.shown)")
    #expect(try child.wait() == 0)
    try here.transcript(Self.merge(there), out: "added  github\n")
  }

  @Test func `a person is asked about a conflict that this vault wins too, as the other value is stored`() throws {
    let (here, there) = try Self.twins()
    try there.transcript("vault set web ann", in: "theirs")
    try here.transcript("vault set web ann", in: "ours")
    here.environment.merge(["TERM": "dumb", "LANG": "C.UTF-8"]) { $1 }
    let generation = try here.generation()
    let trial = try PseudoTerminal()
    let tried = try trial.coffer(Self.merge(there, "--dry-run"), in: here)
    trial.showsAll()
    #expect(trial.shown.contains("would merge: 1 in conflict"), "\(trial.shown)")
    #expect(try tried.wait() == 0)
    let terminal = try PseudoTerminal()
    let asked = try terminal.coffer(Self.merge(there), in: here)
    terminal.shows("Merge them? [y/N]")
    terminal.type("n\n")
    terminal.showsAll()
    #expect(try asked.wait() == 77)
    #expect(try here.generation() == generation)
  }

  @Test func `what both made with one content is told as aligned, to a person and in JSON`() throws {
    let (here, there) = (try Home.withVault(), try Home.withVault())
    try here.transcript("vault set web ann", in: "1")
    try there.transcript("vault set web ann", in: "1")
    let answer = try here.coffer(Self.merge(there, "--json"))
    #expect(answer.status == 0 && answer.out.contains("\"same\":1") && answer.out.contains("\"aligned\":1"), "\(answer)")
    #expect(try !here.coffer(Self.merge(there, "--json")).out.contains("aligned"))
    try here.transcript("vault rename web ann --to-account eve")
    try there.transcript(Self.merge(here), out: "renamed  web  eve\n", err: "'web/ann' becomes 'web/eve'")
  }

  @Test func `a vault that a passphrase opens is merged by its name`() throws {
    let (there, _) = try Home.withPassphrase("correct horse")
    try there.transcript("vault set b --passphrase-file \(there.path)/pass", in: "theirs")
    let here = try Home.withVault()
    try here.transcript("vault use -q work \(there.path)/data/vault.sqlite")
    try here.transcript("merge work --other-passphrase-file \(there.path)/pass", out: "added  b\n")
    try here.transcript("vault get b", out: "theirs")
  }
}

extension Home {
  fileprivate func items() throws -> [String] {
    struct Item: Decodable { let service: String, account: String, id: String, label: String }
    let items = try JSONDecoder().decode([Item].self, from: Data(coffer("vault list --json").out.utf8))
    return items.map { "\($0.service) \($0.account) \($0.id) \($0.label)" }
  }

  fileprivate func generation() throws -> Int {
    struct Status: Decodable { let generation: Int }
    return try JSONDecoder().decode(Status.self, from: Data(coffer("status --details --json").out.utf8)).generation
  }
}
