import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI

@Suite(.tags(.process), .defaultRun)
struct FindCommandTests {
  private func home() throws -> Home {
    let home = try Home.withVault()
    try home.transcript("vault set github.com ada --attribute env=prod --attribute tag:work= --label CI", in: "one")
    try home.transcript("vault set github.com bob --expires 12h", in: "two")
    try home.transcript("vault set gitlab.com ada --expires 90d", in: "three")
    try home.transcript("vault set https://db.example.com/x svc", in: "four")
    return home
  }

  private func names(_ home: Home, _ line: String) throws -> [String] {
    let answer = try home.coffer(line)
    #expect(answer.status == 0, "\(answer.err)")
    return answer.out.split(separator: "\n").map { String($0.prefix { $0 != "\t" }) }
  }

  @Test
  func `list keeps what has an attribute, a tag or an expiry, and sorts`() throws {
    let home = try home()
    #expect(try names(home, "vault list --attribute env=prod") == ["github.com/ada"])
    #expect(try names(home, "vault list --tag work") == ["github.com/ada"])
    #expect(try names(home, "vault list --tag home").isEmpty)
    #expect(try names(home, "vault list --expiring 30d") == ["github.com/bob"])
    #expect(try names(home, "vault list --expiring 99d --sort expires") == ["github.com/bob", "gitlab.com/ada"])
    #expect(try names(home, "vault list --sort modified").count == 4)
    try home.transcript("vault set github.com ada", in: "new")
    #expect(try names(home, "vault list --sort modified").first == "github.com/ada")
    try home.transcript("vault list --attribute env", err: "an attribute is not name=value", exit: 64)
  }

  @Test
  func `list shows what is below a folder, and nothing that only looks like it`() throws {
    let home = try home()
    for (item, value) in [("work/mail ada", "1"), ("work/vpn ''", "2"), ("workshop", "3"), ("home ada/work/", "4")] {
      try home.transcript("vault set \(item)", in: value)
    }
    #expect(try home.listed("vault list work/") == ["work/mail/ada", "work/vpn"])
    try home.transcript("vault list work/ --tree", out: "work/\n├── mail  ada\n└── vpn\n")
    #expect(try home.coffer("vault list work/ --json").out.components(separatedBy: "\"service\":").count == 3)
    try home.transcript("vault list nowhere/")
    #expect(try home.listed("vault list work") == ["work/mail/ada", "work/vpn"])
  }

  @Test
  func `a label names an item to a person at a terminal, and to nobody else`() throws {
    let home = try home()
    try home.transcript("vault set bank ann --label 'Joint Account'", in: "b4nk")
    try home.transcript("vault set savings ann --label 'Joint savings'", in: "s4ve")
    try home.transcript("vault get 'Joint Account'", err: "no item with this name", exit: 1)
    func get(_ label: String, _ answer: String?) throws -> String {
      let terminal = try PseudoTerminal()
      let child = try terminal.coffer("vault get '\(label)'", in: home)
      if let answer {
        terminal.shows("Which one")
        terminal.type(answer)
      }
      terminal.showsAll()
      #expect(try child.wait() == 0)
      return terminal.shown
    }
    let one = try get("joint account", nil)
    #expect(one.contains("note: using bank/ann for 'joint account'") && one.hasSuffix("b4nk\r\n"), "\(one)")
    let two = try get("Joint", "2\n")
    #expect(two.contains("2 items match:\r\n  1) bank/ann  Joint Account\r\n  2) savings/ann  Joint savings"), "\(two)")
    #expect(two.hasSuffix("s4ve\r\n"))
    let part = try get("savin", nil)
    #expect(part.contains("note: using savings/ann for 'savin'") && part.hasSuffix("s4ve\r\n"), "\(part)")
  }

  @Test
  func `list draws a tree`() throws {
    let home = try home()
    try home.transcript(
      "vault list --tree",
      out: "github.com                ada, bob\ngitlab.com                ada\nhttps://db.example.com/x  svc\n")
    try home.transcript("vault list --tree --json", err: "give --tree or --json, not both", exit: 64)
  }

  @Test
  func `find looks for text whatever its case, and for letters in their order where it is told to`() throws {
    let home = try home()
    #expect(try names(home, "vault find GITHUB") == ["github.com/ada", "github.com/bob"])
    try home.transcript("vault find ghb", err: "no item matches", exit: 1)
    #expect(try names(home, "vault find --fuzzy ghb") == ["github.com/ada", "github.com/bob"])
    #expect(try names(home, "vault find --fuzzy gla") == ["gitlab.com/ada"])
    try home.transcript("vault find --fuzzy GHB", err: "no item matches", exit: 1)
  }

  @Test
  func `find --values looks into values and fields, takes no text as an argument, and gets no answer from an agent`() throws {
    let home = try home()
    try home.transcript("vault set github.com bob --field note", in: "a three b")
    let answer = try home.coffer("find --values", in: Data("thre\n".utf8))
    #expect(answer.status == 0 && answer.err.isEmpty && !answer.out.contains("thre"), "\(answer.err)")
    let found = answer.out.split(separator: "\n").map { $0.prefix { $0 != "\t" } }
    #expect(found == ["github.com/bob", "gitlab.com/ada"])
    try home.transcript("find --values", in: "Three", err: "no item matches", exit: 1)
    try home.transcript("find --values three", err: "the text of --values is never an argument", exit: 64)
    try home.transcript("find", err: "give a text, name=value or --values", exit: 64)
    try home.transcript("unlock --quiet")
    defer { _ = try? home.coffer("agent stop") }
    home.locked()
    try home.transcript("find --values", in: "three", err: "nothing to unlock it with", exit: 69)
  }

  @Test func `find --values searches the other items if a value is damaged, and fails with its name`() throws {
    let home = try Home.withVault()
    for name in ["a", "c"] { try home.transcript("set \(name)", in: "three") }
    try home.transcript("set b", in: String(repeating: "x", count: 5000))
    try home.attack(
      "UPDATE rec SET value = zeroblob(length(value)) WHERE idx = (SELECT idx FROM rec ORDER BY length(value) DESC LIMIT 1)")
    let answer = try home.coffer("find --values", in: Data("three".utf8))
    #expect(answer.out.split(separator: "\n").map { $0.prefix { $0 != "\t" } } == ["a", "c"])
    #expect(answer.status == 66 && answer.err.contains("'b'"), "\(answer.err)")
  }

  @Test
  func `an item is named by a reference and by service and account in one word`() throws {
    let home = try home()
    try home.transcript("vault get coffer://github.com/ada", out: "one")
    try home.transcript("vault get coffer://github.com/ada/env", out: "prod")
    try home.transcript("vault get coffer://https%3A%2F%2Fdb.example.com%2Fx", out: "four")
    try home.transcript("vault get github.com/bob", out: "two")
    try home.transcript("vault get https://db.example.com/x/svc", out: "four")
    try home.transcript("vault get https://db.example.com/x", out: "four")
    try home.transcript("vault get coffer://github.com/ada bob", err: "is complete by itself", exit: 64)
    try home.transcript("vault show coffer://github.com/ada bob", err: "already names the account", exit: 64)
    try home.transcript("vault delete coffer://github.com/ada/env", err: "has a third", exit: 64)
    #expect(try home.coffer("vault history coffer://github.com/ada").out.contains("1"))
    try home.transcript("vault get github.com/eve", err: "no item with this name", exit: 1)
    try home.transcript("vault delete github.com/bob")
    #expect(try names(home, "vault list github.com") == ["github.com/ada"])
  }

  @Test
  func `what is set is what is read, and a word that means two items means neither`() throws {
    let home = try home()
    try home.transcript("vault set github.com/ada", in: "new")
    try home.transcript("vault get github.com ada", out: "new")
    try home.transcript("vault set coffer://github.com/cat", in: "three")
    try home.transcript("vault get github.com cat", out: "three")
    try home.transcript("vault set bank/giro online", in: "1")
    try home.transcript("vault get bank/giro", out: "1")
    try home.transcript("vault set bank giro", in: "2")
    for line in ["vault get bank/giro", "vault delete bank/giro --yes", "vault set bank/giro"] {
      try home.transcript(line, in: "3", err: "this is both a service and an item of the service 'bank'", exit: 2)
    }
    try home.transcript("vault get bank giro", out: "2")
    try home.transcript("vault get bank/giro online", out: "1")
  }

  @Test
  func `a person chooses among several items, and a script is told their accounts`() throws {
    let home = try home()
    try home.transcript("vault get github.com", err: "2 items match: ada, bob", exit: 2)
    let terminal = try PseudoTerminal()
    let child = try terminal.coffer("vault get github.com", in: home)
    terminal.shows("2 items match:\r\n  1) ada\r\n  2) bob\r\nWhich one (1 to 2)? ")
    terminal.type("7\n")
    terminal.shows("Enter a number from 1 to 2: ")
    terminal.type("2\n")
    terminal.shows("two\r\n")
    #expect(try child.wait() == 0)
  }

  @Test
  func `control-C, control-D and a terminal that goes away end the choice, and nothing is printed`() throws {
    let home = try home()
    for (key, status) in [("\u{3}", 130), ("\u{4}", 64)] as [(String, Int32)] {
      let terminal = try PseudoTerminal()
      let child = try terminal.coffer("vault get github.com", in: home)
      terminal.shows("Which one (1 to 2)? ")
      terminal.type(key)
      #expect(try child.wait() == status)
      #expect(!terminal.shown.contains("two"))
    }
    var terminal: PseudoTerminal? = try PseudoTerminal()
    let child = try terminal?.coffer("vault get github.com", in: home)
    terminal?.shows("Which one (1 to 2)? ")
    terminal = nil
    #expect(try child?.wait() != 0)
  }

  @Test
  func `a person who mistypes a name is told what is near`() throws {
    let home = try home()
    for (typed, meant) in [("gihtub.com", "github.com"), ("GITHUB.con", "github.com"), ("https://gitlab.com/x", "gitlab.com")] {
      let terminal = try PseudoTerminal()
      let child = try terminal.coffer("vault get \(typed)", in: home)
      terminal.shows("ERROR \(typed): no item with this name. Did you mean \(meant)?\r\n")
      terminal.shows("    coffer vault get \(meant)\r\n")
      #expect(try child.wait() == 1)
    }
    let terminal = try PseudoTerminal()
    let child = try terminal.coffer("vault get github.com adda", in: home)
    terminal.shows("Did you mean github.com/ada?")
    #expect(try child.wait() == 1)
    #expect(try home.coffer("vault get gihtub.com").err.contains("did you mean github.com?"))
  }
}
