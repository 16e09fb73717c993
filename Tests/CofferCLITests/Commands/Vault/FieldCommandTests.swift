import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI
@testable import CofferTerminal

@Suite(.tags(.process), .defaultRun)
struct FieldCommandTests {
  @Test func `a terminal is shown the names of secret fields, and attributes without a value`() throws {
    let home = try Home.withVault()
    home.environment.merge(["TERM": "xterm", "NO_COLOR": "1", "LANG": "C.UTF-8"]) { $1 }
    try home.transcript("vault set bank ann", in: "one")
    try home.transcript("vault set bank ann --field pin", in: "1234")
    try home.transcript("vault set bank ann --field tan", in: "1")
    try home.transcript("vault edit bank ann --attribute tag:work=")
    let terminal = try PseudoTerminal((80, 24))
    let child = try terminal.coffer("vault show bank ann", in: home)
    terminal.showsAll()
    #expect(try child.wait() == 0)
    for line in ["pin       ••••••••   copy: … --field pin", "tan       ••••••••   copy: … --field tan", "tags      work"] {
      #expect(terminal.shown.contains("\r\n  \(line)\r\n"), "\(terminal.shown)")
    }
  }

  @Test func `an item with fields and without a value is shown without one, and get names the fields`() throws {
    let home = try Home.withVault()
    home.environment.merge(["TERM": "xterm", "NO_COLOR": "1", "LANG": "C.UTF-8"]) { $1 }
    try home.transcript("vault set card --exact")
    try home.transcript("vault get card")
    try home.transcript("vault set card --field number", in: "4111")
    try home.transcript("vault get card", err: "but the field number\n  try: coffer get card --field number", exit: 1)
    let terminal = try PseudoTerminal()
    let child = try terminal.coffer("vault show card --reveal", in: home)
    terminal.showsAll()
    #expect(try child.wait() == 0 && terminal.shown.contains("  number  4111") && !terminal.shown.contains("value"))
  }

  @Test func `a terminal is asked for a field by its name`() throws {
    let home = try home()
    let terminal = try PseudoTerminal()
    let child = try terminal.coffer("vault set bank ann --field pin", in: home)
    terminal.shows("New pin of bank/ann: ")
    terminal.vanish()
    #expect(try child.wait() != 0)
  }

  @Test func `--reveal shows the value and every secret field, and a field of several lines looks like no other`() throws {
    let home = try home()
    try home.transcript("vault set bank ann --field pin", in: "47\u{1B}11\n  password  x")
    #expect(try home.coffer("vault show bank --reveal").out.hasSuffix("value     value\npin       47\u{1B}11\n  password  x\n"))
    #expect(try home.coffer("vault set bank ann --field photo", in: Data([0xFF])).status == 0)
    let terminal = try PseudoTerminal()
    let child = try terminal.coffer("vault show bank --reveal", in: home)
    terminal.showsAll()
    #expect(try child.wait() == 0)
    for lines in [
      "password  value", "photo     not text; coffer get bank/ann --field photo > FILE",
      "pin       47\\u{1b}11\r\n\(String(repeating: " ", count: 14))password  x",
    ] { #expect(terminal.shown.contains("\r\n  \(lines)\r\n"), "\(terminal.shown)") }
  }

  @Test func `--open passes the http or https URL of an item to xdg-open as one word, and nothing else`() throws {
    let home = try Home.withVault()
    try home.transcript("vault set shop.example ada", in: "v")
    home.environment["PATH"] = "\(home.path)/bin"
    try home.transcript("show shop.example --open", err: "xdg-open is not installed", exit: 1)
    _ = try home.file("bin/xdg-open", "#!/bin/sh\necho \"$# $*\" > '\(home.path)/opened'\n", mode: 0o700)
    let url = "http://a.example:80/x?y=$z&u=@"
    for (attribute, opened) in [
      ("", "https://shop.example"), ("url=\(url)", url), ("url=HTTPS://x.example/", "https://x.example/"),
    ] {
      if !attribute.isEmpty { try home.transcript("vault edit shop.example --attribute \(attribute)") }
      try home.transcript("show shop.example --open")
      eventually { (try? home.content("opened")) == "1 \(opened)\n" }
    }
    for (url, status) in [
      ("https://bank.example@evil.example", 77), ("https://bank.example\\@evil.example", 77), ("https://a.example/ b", 77),
      ("javascript:alert(1)", 1), ("--help", 1), ("file:///etc/passwd", 1),
    ] as [(String, Int32)] {
      try home.transcript("vault edit shop.example --attribute 'url=\(url)'")
      try home.transcript("show shop.example --open", err: "--attribute url=https://", exit: status)
    }
  }

  private func home(throughAgent: Bool = false) throws -> Home {
    let home = try Home.withVault()
    try home.transcript("vault set bank ann --attribute pin=public --attribute label=shadowed --attribute empty=", in: "value")
    if throughAgent {
      try home.transcript("unlock --quiet")
      home.locked()
    }
    return home
  }

  @Test(arguments: [false, true])
  func `a field is stored, read, shown, edited and deleted by its name`(throughAgent: Bool) throws {
    let home = try home(throughAgent: throughAgent)
    try home.transcript("vault get bank --field pin", out: "public")
    try home.transcript("vault set bank ann --field pin", in: "4711")
    try home.transcript("vault set bank --field pin --label 'of the card'", in: "4712")
    try home.transcript("vault get bank ann --field pin", out: "4712")
    try home.transcript("vault get bank --field pin --json", out: "{\"pin\":\"4712\"}\n")
    try home.transcript("vault get bank", out: "value")
    let shown = try home.coffer("vault show bank").out
    #expect(shown.contains("\nfields           pin\n") || shown.hasSuffix("\nfields           pin\n"), "\(shown)")
    #expect(!shown.contains("4712") && shown.contains("\nempty\n") && shown.contains("\nattribute label  shadowed\n"))
    #expect(try home.coffer("vault show bank --json").out.contains("\"field" + "s\":[\"pin\"]"))
    for line in ["list", "list bank", "find bank", "list --sort modified", "find --fuzzy bnk"] {
      #expect(try home.coffer("vault \(line) --json").out.contains(#""fields":["pin"]"#), "\(line)")
    }
    try home.transcript("vault set other", in: "1")
    #expect(try home.coffer("vault list other --json").out.contains(#""fields":[],"#))
    try home.transcript("vault delete other")
    #expect(try home.coffer("vault show bank --field pin").out.contains("label     of the card\n"))
    try home.transcript("vault edit bank --field pin --label ''")
    try home.transcript("vault get bank --field pin --revision 1", out: "4711")
    #expect(try home.coffer("vault history bank --field pin").out.contains("1\tformer"))
    try home.transcript("vault revert bank ann 1 --field pin")
    try home.transcript("vault get bank --field pin", out: "4711")
    try home.transcript("vault delete bank --field pin")
    try home.transcript("vault get bank --field pin", out: "public")
    try home.transcript("vault show bank --field pin", err: "'pin': the item has no field of that name", exit: 1)
    try home.transcript("vault history bank --field nope", err: "'nope': the item has no field of that name", exit: 1)
    try home.transcript("vault set nobody --field pin", in: "x", err: "no item with this name", exit: 1)
  }

  @Test
  func `what is said of an item, its fields and its attributes are each in reach`() throws {
    let home = try home()
    try home.transcript("vault set bank ann --field pin", in: "4711")
    try home.transcript("vault get bank --attribute pin", out: "public")
    try home.transcript("vault get bank --attribute label", out: "shadowed")
    try home.transcript("vault get bank --attribute empty")
    try home.transcript("vault get bank --attribute nope", err: "no field of that name", exit: 1)
    try home.transcript("vault edit bank --label Mine")
    try home.transcript("vault get bank --field label", out: "Mine")
    try home.transcript("vault set bank ann --field label", in: "x", err: "is not a valid field name", exit: 64)
    let file = try home.file(
      "items.json", #"[{"service":"bank","account":"ann","field":"label","value":"secret label"}]"#)
    #expect(try home.coffer("import \(file) --from json").status == 0)
    try home.transcript("vault get bank --field label", out: "Mine")
    try home.transcript("vault get bank --field #label", out: "secret label")
    try home.transcript("vault get coffer://bank/ann/%23label", out: "secret label")
    try home.transcript(
      "vault history bank --field #label --json", out: try home.coffer("vault history bank --field #label --json").out)
    try home.transcript("vault delete bank --field #label")
    try home.transcript("vault get bank --field #label", err: "no field of that name", exit: 1)
  }

  @Test
  func `a reference names a field`() throws {
    let home = try home()
    try home.transcript("vault set bank ann --field pin", in: "4711")
    try home.transcript("vault get coffer://bank/ann/pin", out: "4711")
    try home.transcript("vault get coffer://bank", out: "value")
    try home.transcript("vault get coffer://bank/ann/none", err: "the item has nothing named 'none'", exit: 1)
    try home.transcript("vault get coffer://bank ann", err: "a reference is complete by itself", exit: 64)
    try home.transcript("run --env PIN=coffer://bank/ann/pin -- printenv PIN", out: "4711\n")
    try home.transcript("inject", in: "pin={{ coffer://bank/ann/pin }}\n", out: "pin=4711\n")
  }

  @Test
  func `new facts are new keys of JSON, and an export with them is read back`() throws {
    let home = try home()
    let json = try home.coffer("vault list --json").bytes
    let items = try #require(JSONSerialization.jsonObject(with: json) as? [[String: Any]])
    #expect(UUID(uuidString: items[0]["id"] as? String ?? "") != nil && items[0]["history"] as? Int == 10)
    #expect((items[0]["written"] as? String).flatMap { Moment.parse($0) } != nil && items[0]["fields"] as? [String] == [])
    let export = try home.file("export.json", home.coffer("export --reveal").bytes)
    let other = try Home.withVault()
    #expect(try other.coffer("import \(export)").status == 0)
    try other.transcript("vault get bank ann", out: "value")
  }
}
