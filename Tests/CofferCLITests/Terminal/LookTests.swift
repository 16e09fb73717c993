import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI
@testable import CofferTerminal

@Suite(.tags(.process), .wholeRun)
struct LookTests {
  private static func home(_ variables: [String: String] = [:]) throws -> Home {
    let home = try Home.withVault()
    let items = #"""
      [{"service":"github.com","account":"octocat","label":"CI token","value":"v"},
       {"service":"example.com","account":"bob","value":"v"},
       {"service":"日本語.jp","account":"田中","label":"🔑 emoji key","value":"v"}]
      """#
    try home.transcript(
      "import -q --from json \(home.file("items.json", items))",
      out: """
        added  github.com   octocat
        added  example.com  bob
        added  日本語.jp    田中

        """)
    home.environment.merge(["TERM": "xterm", "LANG": "C.UTF-8", "NO_COLOR": "1"].merging(variables) { $1 }) { $1 }
    return home
  }

  private static func shown(_ line: String, in home: Home, columns: Int = 80, exit status: Int32 = 0) throws -> [String] {
    let terminal = try PseudoTerminal((columns, 24))
    let child = try terminal.coffer(line, in: home)
    terminal.showsAll()
    #expect(try child.wait() == status)
    return terminal.shown.components(separatedBy: "\r\n").filter { !$0.isEmpty }
  }

  @Test func `a list has headers, cells, relative times and a count`() throws {
    let home = try Self.home()
    #expect(
      try Self.shown("vault list", in: home) == [
        "SERVICE      ACCOUNT  LABEL         CHANGED", "example.com  bob                    just now",
        "github.com   octocat  CI token      just now", "日本語.jp    田中     🔑 emoji key  just now", "3 items",
      ])
    #expect(try Self.shown("vault list nope", in: home) == ["no items"])
    #expect(try Self.shown("vault list token/", in: home, columns: 200)[0].hasSuffix("; 'coffer find token' finds 1 item"))
    #expect(try Self.shown("list", in: Home()).last == "no vault yet: coffer init creates one")
    #expect(try Self.shown("vault find ci", in: home).last == "1 item")
  }

  @Test(arguments: [20, 80])
  func `nothing that is listed or told is wider than its terminal`(columns: Int) throws {
    let home = try Self.home(["COFFER_PAGER": ""])
    let long = String(repeating: "a-long-name.", count: 80)
    try home.transcript("vault set \(long) \(long) --label '\(long)' --attribute url=\(long) --expires 1d", in: "v")
    try home.transcript("vault set github.com octocat", in: "v")
    try home.transcript("vault delete example.com bob")
    try home.transcript("vault use \(long.prefix(60)) \(home.path)/\(long.prefix(200))", err: "is the vault at")
    for (line, status) in [
      ("vault list", 0), ("vault find long", 0), ("vault log", 0), ("vault slot list", 0), ("vault list --tree", 0),
      ("vault audit", 2),
      ("vault show \(long)", 0), ("vault history \(long)", 0), ("vault history github.com octocat", 0), ("list --deleted", 0),
      ("vault use", 0), ("status --details", 0), ("status", 0), ("status --paths", 0), ("version", 0),
    ] as [(String, Int32)] {
      let lines = try Self.shown(line, in: home, columns: columns, exit: status)
      #expect(lines.count > 1, "coffer \(line.prefix(40))")
      for text in lines { #expect(Cells.count(text) <= columns, "coffer \(line.prefix(40)): \(text)") }
    }
  }

  @Test func `what was done to each item or key is a table that is no wider than its terminal`() throws {
    let home = try Self.home(["COFFER_PAGER": ""])
    let long = String(repeating: "a-long-name.", count: 20)
    let items = try home.file("more.json", #"[{"service":"\#(long)","account":"\#(long)","value":"v"}]"#)
    _ = try home.file(
      "keys.plist", "<plist version=\"1.0\"><dict><key>\(long)</key><true/><key>short</key><true/></dict></plist>")
    _ = try home.file("nobody/.netrc", "machine \(long) login ada password s3cret\n")
    home.environment["HOME"] = home.path + "/nobody"
    for (line, head) in [
      ("import --yes --verbose --dry-run --from json \(items)", "DONE   SERVICE"),
      ("import --yes --verbose --from json \(items)", "DONE   SERVICE"),
      ("defaults import --dry-run com.example.app \(home.path)/keys.plist", "DONE   KEY"),
      ("doctor --fix --yes", "DONE   ITEM"),
    ] {
      let lines = try Self.shown(line, in: home)
      #expect(lines.contains { $0.hasPrefix(head) }, "coffer \(line): \(lines)")
      for text in lines { #expect(Cells.count(text) <= 80, "coffer \(line): \(text)") }
    }
    let terminal = try PseudoTerminal()
    let child = try terminal.coffer("doctor --fix --yes", in: home)
    terminal.showsAll()
    #expect(
      try child.wait() == 0 && !terminal.shown.hasPrefix("\r\n")
        && terminal.shown.contains("there are no plain-text secrets to move"))
  }

  @Test func `a tree, findings, former contents and what was deleted are counted, with their dates in local time`() throws {
    let home = try Self.home()
    try home.transcript("vault set github.com octocat", in: "v2")
    try home.transcript("vault delete example.com bob")
    #expect(
      try Self.shown("vault list --tree", in: home) == [
        "github.com  octocat", "日本語.jp   田中", "2 items",
      ])
    #expect(
      try Self.shown("vault history github.com octocat", in: home) == [
        "REVISION  STATE     CHANGED   BYTES  LABEL", "       2  current   just now      2  CI token",
        "       1  previous  just now      1  CI token",
        "2 versions; to see the previous one, or return to it:", "  coffer get github.com/octocat --revision 1",
        "  coffer revert github.com/octocat",
      ])
    #expect(
      try Self.shown("list --deleted", in: home) == [
        "SERVICE      ACCOUNT  CHANGED   GONE FOR GOOD", "example.com  bob      just now  in 4 weeks",
        "1 that can be brought back",
      ])
    try home.transcript("vault set bank ann --expires 5d", in: "correct-horse-battery-staple-9137")
    let found = try Self.shown("vault audit bank", in: home, exit: 2)
    #expect(
      found == [
        "FOUND     SERVICE  ACCOUNT  WHY", "expiring  bank     ann      in 5 d",
        "1 item looked at, 1 of them passwords; 1 expiring",
      ])
  }

  @Test func `a sheet, a tree and a table that are longer than the screen go to the pager`() throws {
    let home = try Self.home(["COFFER_PAGER": "sed s/^/PAGED:/"])
    let items = (0..<30).map { #"{"service":"s\#($0)","account":"a","value":"same"}"# }.joined(separator: ",")
    #expect(try home.coffer("import -q --from json \(home.file("more.json", "[\(items)]"))").status == 0)
    let attributes = (0..<30).map { "--attribute n\($0)=v" }.joined(separator: " ")
    try home.transcript("vault set wide x \(attributes)", in: "v")
    for _ in 0..<25 { try home.transcript("vault set often x --history 40", in: "v") }
    for (line, status) in [
      ("vault list --tree", 0), ("vault audit", 2), ("vault show wide", 0), ("vault history often", 0),
    ] as [(String, Int32)] {
      let lines = try Self.shown(line, in: home, exit: status)
      #expect(lines.count > 24 && lines.allSatisfy { $0.hasPrefix("PAGED:") }, "coffer \(line): \(lines)")
    }
  }

  @Test func `an item is shown as a sheet, without its value unless that is asked for`() throws {
    let home = try Self.home()
    try home.transcript("vault set github.com ada --expires 35d --attribute env=prod --label L", in: "hunter2")
    let sheet = try Self.shown("vault show github.com ada", in: home)
    #expect(sheet[0] == "github.com / ada · L")
    #expect(sheet[1] == "  password  ••••••••   copy: coffer get github.com/ada -c")
    let place = home.vault
    #expect(
      try Self.shown("vault show github.com ada --vault \(place)", in: home, columns: 400)[1]
        .hasSuffix("copy: coffer --vault \(place) get github.com/ada -c"))
    #expect(try home.coffer("status --vault=\(place).no").out.contains("coffer --vault \(place).no init creates one"))
    #expect(try Self.shown("generate x", in: home, exit: 64)[0].contains(" coffer generate prints"))
    #expect(sheet[2] == "  env       prod")
    #expect(sheet[3].hasPrefix("  expires   in 5 weeks (") && sheet[4].hasPrefix("  changed just now, revision 1 of 1 kept · "))
    let revealed = try Self.shown("vault show github.com ada --reveal", in: home)
    #expect(revealed.suffix(2).first == "  password  hunter2" && revealed.last?.hasPrefix("  changed just now") == true)
  }

  @Test func `a preference is shown with its value, type and file, and listed with its value below the items`() throws {
    let home = try Self.home()
    try home.transcript("set theme light --plain")
    #expect(
      try Self.shown("show theme", in: home, columns: 200) == [
        "theme · preference of domain coffer", "  value  light (string)", "  file   \(home.path)/config/coffer.plist",
      ])
    #expect(try Self.shown("list --vault \(home.vault)", in: home).last == "3 items")
    let listed = try Self.shown("list", in: home)
    #expect(listed.suffix(3) == ["KEY    STORE     VALUE", "theme  defaults  light", "1 key"])
    try home.transcript("vault set note", in: "v")
    #expect(try Self.shown("show note", in: home)[1].hasPrefix("  value  "))
  }

  @Test func `NO_COLOR leaves colors out, CLICOLOR_FORCE brings them to a dumb terminal, and that has none by itself`() throws {
    let home = try Self.home()
    for (variables, isColored) in [
      (["NO_COLOR": ""], true), (["NO_COLOR": "1"], false), (["NO_COLOR": "", "TERM": "dumb"], false),
      (["NO_COLOR": "", "TERM": "dumb", "CLICOLOR_FORCE": "1"], true),
      (["NO_COLOR": "", "TERM": "dumb", "CLICOLOR_FORCE": "0"], false),
      (["NO_COLOR": "1", "CLICOLOR_FORCE": "1"], false),
    ] {
      home.environment.merge(variables) { $1 }
      let text = try Self.shown("vault list", in: home).joined()
      #expect(text.contains("\u{1B}[") == isColored, "\(variables)")
      home.environment["CLICOLOR_FORCE"] = nil
      home.environment["TERM"] = "xterm"
    }
  }

  @Test func `a dumb terminal is told nothing that moves its cursor`() throws {
    let home = try Self.home(["TERM": "dumb", "NO_COLOR": ""])
    let items = (0..<600).map { #"{"service":"s","account":"a\#($0)","value":"v"}"# }.joined(separator: ",")
    let file = try home.file("more.json", "[\(items)]")
    let text = try Self.shown("import --from json --yes \(file)", in: home).joined(separator: "\n")
    #expect(text.contains("imported 600 items\n") && !text.contains("\u{1B}") && !text.contains("%"))
  }

  @Test func `a locale without UTF-8 gets its signs in ASCII`() throws {
    let home = try Self.home(["LANG": "C"])
    #expect(try Self.shown("lock", in: home) == ["OK nothing to lock: no agent is running"])
    #expect(try Self.shown("vault list example.com", in: home).first == "SERVICE      ACCOUNT  CHANGED")
  }

  @Test func `who changes something is told what was done, unless it shall be quiet`() throws {
    let home = try Self.home()
    let backup = try Self.shown("backup \(home.path)/copy", in: home, columns: 400).last
    #expect(backup?.hasPrefix("✓ backed up to ") == true && backup?.contains("coffer vault verify \(home.path)/copy") == true)
    #expect(try Self.shown("vault rotate --yes", in: home, columns: 200).first == "✓ new key, sealed to 1 slot (key file)")
    #expect(try Self.shown("backup -q \(home.path)/another", in: home) == [])
    #expect(
      try Self.shown("unlock", in: home, columns: 200).last
        == "✓ unlocked for all your shells; it locks 15 min after the last use, in 8 h at the latest, or with 'coffer lock'")
    #expect(try Self.shown("status", in: home).contains("Agent        ● unlocked, 15 min left"))
    #expect(
      try Self.shown("lock", in: home, columns: 200) == [
        "✓ locked: the agent has wiped its keys; 'coffer unlock' opens the vault again"
      ])
  }

  @Test func `who renames, copies or reverts is told what became of which item`() throws {
    let home = try Self.home()
    for (line, said, status) in [
      ("vault rename example.com --to-account eve", "✓ renamed 'example.com/bob' to 'example.com/eve'", 0),
      ("vault copy example.com/eve mail/eve", "✓ copied 'example.com/eve' to 'mail/eve'", 0),
      ("vault copy example.com/eve mail/eve", "✗ mail/eve: the item already exists", 73),
      ("vault rename example.com/eve mail/eve", "✗ mail/eve: the item already exists", 73),
      (
        "vault copy example.com/eve mail/eve --replace",
        "✓ copied 'example.com/eve' to 'mail/eve'; coffer revert mail/eve 1 restores the replaced item", 0
      ),
      (
        "vault rename example.com/eve mail/eve --replace",
        "✓ renamed 'example.com/eve' to 'mail/eve', replacing the item of that name", 0
      ),
      ("vault copy mail --to-service other", "✓ copied 'mail/eve' to 'other/eve'", 0),
      ("vault revert other eve 1", "✓ 'other/eve' already equals revision 1; nothing was changed", 0),
    ] as [(String, String, Int32)] {
      let shown = try Self.shown(line, in: home, columns: 200, exit: status)
      #expect(shown.first?.hasPrefix(said) == true, "coffer \(line): \(shown)")
    }
    #expect(try Self.shown("vault copy mail --to-service another -q", in: home) == [])
    let entries = try home.coffer("vault log").out.split(separator: "\n").count
    try home.transcript("vault revert other eve 1")
    #expect(try home.coffer("vault log").out.split(separator: "\n").count == entries, "nothing was written")
    #expect(try home.coffer("vault revert other eve 1 --json").out.contains(#""revision":1"#))
  }

  @Test(arguments: [20, 40, 80])
  func `a message that is longer than the terminal goes on in the next line, at a word`(columns: Int) throws {
    let home = try Self.home()
    let plain = try home.coffer("vault get nothing-that-is there")
    let lines = try Self.shown("vault get nothing-that-is there", in: home, columns: columns, exit: 1)
    let words = { (text: String) in text.split(whereSeparator: \.isWhitespace).map(String.init) }
    let said = plain.err.replacing("coffer: 'nothing-that-is/there':", with: "✗ nothing-that-is/there:")
      .replacing("this name\n", with: "this name.\n")
    #expect(words(lines.joined(separator: " ")) == words(said), "no word is broken")
    for line in lines { #expect(Cells.count(line) <= columns || words(line).count == 1, "\(line)") }
    let cure = try #require(lines.firstIndex { $0.hasPrefix("  try: ") })
    #expect(lines[1..<cure].allSatisfy { $0.hasPrefix("  ") } && lines[(cure + 1)...].allSatisfy { $0.hasPrefix("       ") })
    #expect(try Self.shown("vault get nothing-that-is there --json", in: home, columns: columns, exit: 1).count == 1)
    let long = String(repeating: "long", count: 30)
    let done = try Self.shown("vault rename example.com --to-account \(long)", in: home, columns: columns)
    #expect(done.count > 1 && done.contains { $0.hasPrefix("  ") && $0.contains("/\(long)'") }, "\(done)")
  }

  @Test func `an error has a red sign, a bold name, and its cure alone on a line that may be copied`() throws {
    let home = try Self.home(["NO_COLOR": ""])
    let lines = try Self.shown("vault get gihtub.com", in: home, columns: 200, exit: 1)
    #expect(
      lines == [
        "\u{1B}[31m✗\u{1B}[0m \u{1B}[1mgihtub.com\u{1B}[0m: no item with this name. Did you mean github.com?",
        "    \u{1B}[1mcoffer vault get github.com\u{1B}[0m",
      ])
    home.environment["NO_COLOR"] = "1"
    #expect(
      try Self.shown("vault get --vualt x", in: home, columns: 30, exit: 64) == [
        "✗ There is no option", "  '--vualt'. Did you mean", "  --vault?", "    coffer get --help",
      ])
  }

  @Test func `a sentence goes on in the next line at a word, in the tour and in a question`() throws {
    let home = try Self.home(["COFFER_PAGER": ""])
    for text in try Self.shown("tour", in: home, columns: 50) where !text.hasPrefix("   $ ") {
      #expect(Cells.count(text) <= 50 || !text.drop { $0 == " " }.contains(" "), "\(text)")
    }
    let terminal = try PseudoTerminal((30, 24))
    let child = try terminal.coffer("vault delete github.com octocat", in: home)
    terminal.shows("[y/N] ")
    terminal.type("n\n")
    terminal.showsAll()
    #expect(try child.wait() == 64)
    for text in terminal.shown.components(separatedBy: "\r\n") { #expect(Cells.count(text) <= 30, "\(text)") }
  }

  @Test func `a name that would look like another is not given to anything new`() throws {
    let home = try Self.home()
    for line in [
      "vault set 'git\u{200D}hub.com' ada", "vault set s 'a\u{202E}b'", "vault rename github.com --to-service 'x\u{200B}'",
      "vault copy github.com --to-account 'x\u{2066}'", "login 'h\u{FEFF}' --with-token", "set 'k\u{200E}' --secret",
    ] {
      let answer = try home.coffer(line, in: Data("v".utf8))
      #expect(answer.status == 64 && answer.err.contains("invisible or changes the direction"), "\(line): \(answer.err)")
    }
    for line in ["set coffer.auth/x", "rename github.com coffer.auth/x", "copy github.com --to-service coffer.auth"] {
      #expect(try home.coffer(line, in: Data("v".utf8)).err.contains("the service 'coffer.auth' is Coffer's own"), "\(line)")
    }
    try home.transcript("vault set '👩‍💻' 'می\u{200C}خواهم'", in: "v")
  }
}
