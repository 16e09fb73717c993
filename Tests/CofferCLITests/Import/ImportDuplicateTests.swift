import Coffer
import CofferStorage
import CofferTestSupport
import CofferVault
import Foundation
import Testing

@testable import CofferCLI
@testable import CofferTerminal

/// Items of two programs under the same names.
@Suite(.tags(.process), .defaultRun) struct ImportDuplicateTests {
  private let home: Home

  init() throws { home = try Home.withVault() }

  /// The answer's lines with a bar between their cells.
  private func rows(_ line: String, in text: String) throws -> (rows: [String], err: String) {
    let answer = try home.coffer(line, in: Data(text.utf8))
    #expect(answer.status == 0, "\(answer.err)")
    return (answer.out.split(separator: "\n").map { String($0.replacing(/[ ]{2,}|\t+/, with: "|")) }, answer.err)
  }

  @Test func `all taken names are listed, up to a screen of them, and nothing is imported`() throws {
    let line = "import -q --from env --service app -"
    let many = (1...23).map { "V\($0)=x\n" }.joined()
    #expect(try home.coffer(line, in: Data(many.utf8)).status == 0)
    let answer = try home.coffer(line, in: Data("NEW=x\n\(many)".utf8))
    #expect(answer.status == 73 && answer.out.isEmpty)
    #expect(answer.err.contains("23 items already exist; nothing was imported"), "\(answer.err)")
    #expect(answer.err.contains(": app/V1, app/V2, app/V3,") && answer.err.contains("app/V20, … and 3 more"), "\(answer.err)")
    #expect(!answer.err.contains("app/V21"))
    let two = try home.coffer(line, in: Data("V1=x\nNEW=x\nV2=x\n".utf8))
    #expect(two.status == 73 && two.err.contains(": app/V1, app/V2"), "\(two.err)")
    #expect(try home.coffer("vault get app NEW").status == 1)
  }

  @Test func `with newer, each of two items that was changed later stays, and one without a date is older`() throws {
    func items(_ dates: [String: String?], _ value: String) -> String {
      let items = dates.sorted { $0.key < $1.key }.map { name, date in
        let modified = date.map { #","modified":"\#($0)-01-01T00:00:00Z""# } ?? ""
        let item = #""service":"\#(name)","value":"\#(value)""#
        return #"{\#(item)\#(modified)},{\#(item),"field":"pin"}"#
      }
      return "[\(items.joined(separator: ","))]"
    }
    let first = items(["a": "2020", "b": "2020", "c": "2020", "d": "2020"], "old")
    #expect(try home.coffer("import -q --from json -", in: Data(first.utf8)).status == 0)
    let second = items(["a": "2021", "b": "2019", "c": nil, "d": "2020", "e": nil], "new")
    let answer = try rows("import -q --from json --on-duplicate newer -", in: second)
    #expect(answer.rows == ["added|e", "replaced|a", "kept|b", "kept|c", "kept|d"])
    for (name, value) in ["a": "new", "b": "old", "c": "old", "d": "old", "e": "new"] {
      try home.transcript("vault get \(name)", out: value)
      try home.transcript("vault get \(name) --field pin", out: value)
    }
  }

  @Test func `with both, an item gets the first free number behind its account, and its fields follow it`() throws {
    try home.transcript("vault set shop ada", in: "mine")
    try home.transcript("vault set shop 'ada (2)'", in: "mine too")
    try home.transcript("vault set note", in: "mine")
    try home.transcript("vault set --field pin note", in: "1")
    let text = #"""
      [{"service":"shop","account":"ada","value":"theirs"},{"service":"shop","account":"ada","field":"pin","value":"4711"},
       {"service":"shop","account":"ada (3)","value":"third"},{"service":"bank","value":"new"},
       {"service":"note","field":"pin","value":"2"}]
      """#
    let answer = try rows("import --from json --on-duplicate both -", in: text)
    #expect(answer.rows == ["added|shop|ada (4)", "added|shop|ada (3)", "added|bank", "added|note|pin (2)"])
    #expect(answer.err.contains("'shop/ada' becomes 'shop/ada (4)': its name is taken"), "\(answer.err)")
    try home.transcript("vault get shop ada", out: "mine")
    try home.transcript("vault get shop 'ada (4)'", out: "theirs")
    try home.transcript("vault get shop 'ada (4)' --field pin", out: "4711")
    try home.transcript("vault get note --field pin", out: "1")
    try home.transcript("vault get note --field 'pin (2)'", out: "2")
    let other = try rows("import -q --from json --on-duplicate both -", in: #"[{"service":"note","value":"theirs"}]"#)
    #expect(other.rows == ["added|note|(2)"])
  }

  @Test func `with both, no name that would look like another is made`() throws {
    let text = #"[{"service":"no\u202ete","value":"1"}]"#
    #expect(try home.coffer("import -q --from json -", in: Data(text.utf8)).status == 0)
    try home.transcript(
      "import -q --from json --on-duplicate both -", in: text.replacing("1", with: "2"), err: "changes the direction of text",
      exit: 64)
  }

  @Test func `the plan groups the digits of its numbers as those of its title`() throws {
    let form = SecretForm(try Home.secret("x"))
    let items = try (0..<1000).map { ImportedItem(name: try ItemName(service: "s", account: "\($0)"), form: form) }
    var report = ImportReport()
    report.added = items.map(\.name)
    let plan = ImportPlan(ImportSource.Found(format: .json, place: "f", items: items), report, .fail)
    #expect(plan.text == "items of Coffer, f: 1 000 items\n  new  1 000")
  }

  @Test(arguments: ["replace", "newer", "both"])
  func `an item that the vault holds already is not written again`(choice: String) throws {
    let item = #""service":"shop","account":"ada","value":"1","label":"L","attributes":{"k":"v"}"#
    let field = #"{"service":"shop","account":"ada","field":"pin","value":"2"}"#
    _ = try rows("import -q --from json -", in: "[{\(item)},\(field)]")
    let later = #"[{\#(item),"modified":"2090-01-01T00:00:00Z"},\#(field)]"#
    #expect(try rows("import -q --from json --on-duplicate \(choice) -", in: later).rows == ["kept|shop|ada"])
    #expect(try home.coffer("vault get shop ada --revision 2").status == 1)
  }

  @Test func `with both, an item that the vault holds under a numbered name is not copied again`() throws {
    try home.transcript("vault set shop ada", in: "mine")
    let item = #""service":"shop","account":"ada""#
    let text = #"[{\#(item),"value":"theirs"},{\#(item),"field":"pin","value":"1"}]"#
    for word in ["added", "kept"] {
      #expect(try rows("import -q --from json --on-duplicate both -", in: text).rows == ["\(word)|shop|ada (2)"])
    }
  }

  @Test func `a preview counts and lists the items that exist`() throws {
    try home.transcript("vault set app A", in: "mine")
    let answer = try home.coffer("import --from env --service app --dry-run -", in: Data("A=1\nB=2\n".utf8))
    #expect(answer.status == 73 && answer.err.contains("  new       1\n  existing  1\n"), "\(answer.err)")
    #expect(answer.err.contains("app/A"))
  }

  @Test func `a terminal asks about items that exist, and not about an import that would change nothing`() throws {
    try home.transcript("vault set shop ada", in: "mine")
    let items = #"[{"service":"shop","account":"ada","value":"theirs"},{"service":"bank","value":"new"}]"#
    let file = try home.file("items.json", items)
    func answer(_ line: String, _ reply: String?) throws -> (shown: String, status: Int32) {
      let terminal = try PseudoTerminal()
      let child = try terminal.coffer(line, in: home)
      if let reply {
        terminal.shows("\r\n  b  both: import under a free name beside yours\r\n")
        terminal.shows("[s/b/r] ")
        terminal.type(reply)
      }
      terminal.showsAll()
      return (terminal.shown, try child.wait())
    }
    let no = try answer("import \(file)", "\n")
    #expect(no.status == 73 && no.shown.contains("Already in the vault: shop/ada."), "\(no)")
    let both = try answer("import \(file)", "b\n")
    #expect(both.status == 0 && both.shown.contains("imported 2 items"), "\(both)")
    try home.transcript("vault get shop 'ada (2)'", out: "theirs")
    let again = try answer("import \(file) --on-duplicate both", nil)
    #expect(again.status == 0 && again.shown.contains("nothing to import: all 2 items exist already"), "\(again)")
    try home.transcript("vault set shop ada", in: "theirs")
    let same = try answer("import \(file)", nil)
    #expect(same.status == 0 && same.shown.contains("nothing to import"), "\(same)")
  }

  @Test func `the question names only items that differ, and offers newer only if one of them has a date`() throws {
    for (name, value) in [("a", "same"), ("b", "mine")] { try home.transcript("vault set \(name)", in: value) }
    func items(_ date: String) -> String {
      #"[{"service":"a","value":"same"},{"service":"b","value":"theirs"\#(date)}]"#
    }
    for (date, choices) in [("", "[s/b/r] "), (#","modified":"2020-01-01T00:00:00Z""#, "[s/n/b/r] ")] {
      let terminal = try PseudoTerminal()
      let child = try terminal.coffer("import \(home.file("items\(date.count)", items(date))) --from json", in: home)
      terminal.shows("Already in the vault: 2, of which 1 differs: b.\r\n")
      terminal.shows("\r\n\(choices)")
      terminal.type("\n")
      terminal.showsAll()
      #expect(try child.wait() == 73)
    }
    let undated = try rows("import --from json --on-duplicate newer -", in: items(""))
    #expect(undated.err.contains("note: 1 differs and has no date, so yours stays; --on-duplicate replace takes it"))
    let dated = try rows("import --from json --on-duplicate newer -", in: items(#","modified":"2020-01-01T00:00:00Z""#))
    #expect(dated.rows == ["kept|a", "kept|b"] && dated.err.isEmpty, "\(dated)")
  }

  @Test func `a long reason goes on below itself on a narrow terminal`() throws {
    let login = #"{"username":"ada","password":"x","totp":"steam://ABCDEFGH"}"#
    let file = try home.file("b.json", #"{"encrypted":false,"items":[{"type":1,"name":"Steam","login":\#(login)}]}"#)
    let terminal = try PseudoTerminal((40, 24))
    let child = try terminal.coffer("import \(file) --dry-run", in: home)
    terminal.showsAll()
    #expect(try child.wait() == 0)
    let indent = "\r\n" + String(repeating: " ", count: 14)
    #expect(
      terminal.shown.contains(
        "  without  1  one-time code of an\(indent)unknown kind; its seed is\(indent)kept as a field\r\n"),
      "\(terminal.shown)")
  }

  @Test func `an entry of pass with a host below a folder comes with the command that lets git find it`() throws {
    let names = [("web", "example.org"), ("web/github.com", "ada"), ("work/db", "prod")]
    let form = SecretForm(try Home.secret("x"))
    let items = try names.map { ImportedItem(name: try ItemName(service: $0, account: $1), form: form) }
    var report = ImportReport()
    report.added = items.map(\.name)
    let plan = ImportPlan(ImportSource.Found(format: .pass, place: "f", items: items), report, .fail)
    let command = "coffer rename web/example.org example.org"
    #expect(
      plan.advice == ["git does not find logins in a folder; '\(command)' moves this one out; 1 other item needs the same"])
    let metadata = ItemMetadata(attributes: ["user": "ada"])
    let known = ImportedItem(name: try ItemName(service: "web", account: "github.com"), form: form.with(metadata))
    report.added = [known.name]
    let other = ImportPlan(ImportSource.Found(format: .pass, place: "f", items: [known]), report, .fail)
    #expect(other.advice.first?.contains("'coffer rename web/github.com github.com/ada'") == true, "\(other.advice)")
  }

  @Test func `the total says how many items are new and how many were replaced`() throws {
    let names = try ["a", "b"].map { try ItemName(service: $0, account: "") }
    let source = ImportSource.Found(format: .json, place: "f", items: [])
    var report = ImportReport()
    report.replaced = [names[0]]
    #expect(ImportPlan(source, report, .replace).total(isTrial: false) == "replaced 1 item")
    report.added = [names[1]]
    #expect(ImportPlan(source, report, .replace).total(isTrial: true) == "would import 2 items: 1 new, 1 replaced")
  }
}
