import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI
@testable import CofferTerminal
@testable import CofferVault

/// The screens of lists and reports, as a person reads them.
@Suite(.tags(.process), .wholeRun)
struct ScreenTests {
  private static func home() throws -> Home {
    let home = try Home.withVault()
    home.environment.merge(["TERM": "xterm", "LANG": "C.UTF-8", "NO_COLOR": "1", "COFFER_PAGER": ""]) { $1 }
    return home
  }

  private static func shown(_ line: String, in home: Home, columns: Int = 80, exit status: Int32 = 0) throws -> [String] {
    let terminal = try PseudoTerminal((columns, 24))
    let child = try terminal.coffer(line, in: home)
    terminal.showsAll()
    #expect(try child.wait() == status, "coffer \(line): \(terminal.shown)")
    return terminal.shown.components(separatedBy: "\r\n").filter { !$0.isEmpty }
  }

  @Test func `a program gets a line of five cells for each item, with tabs between them and in no cell`() throws {
    let home = try Self.home()
    let items = #"""
      [{"service":"a b","account":"c  d","value":"v","label":"one\ttwo\nthree"},
       {"service":"\#(String(repeating: "long", count: 200))","account":"x","value":"v"}]
      """#
    #expect(try home.coffer("import -q --from json \(home.file("items.json", items))").status == 0)
    let lines = try home.coffer("vault list").out.split(separator: "\n")
    #expect(lines.count == 2)
    #expect(
      lines.first?.wholeMatch(of: /a b\/c  d\tvault\tone\\u\{9\}two\\nthree\t20[0-9T:-]+Z\t/) != nil, "\(lines)")
    try home.transcript("vault set short --expires 2099-01-01", in: "v")
    let short = try home.coffer("vault list short").out
    #expect(short.hasPrefix("short\tvault\t\t20") && short.hasSuffix("Z\t2099-01-01T00:00:00Z\n"), "\(short)")
  }

  @Test func `the screens in the documentation are what the program prints`() throws {
    let home = try Home()
    let script = CommandLineArticle.root.appending(path: ".ci/screens").path()
    guard let check = try home.program(["python3", script, "--check", Home.coffer]) else {
      try Test.skip(without: "python3")
    }
    #expect(check.status == 0, "\(check.out)\(check.err)")
  }

  private static func importExpired(_ service: String, in home: Home) throws {
    let items = #"[{"service":"\#(service)","account":"ci","value":"v","expires":"2020-01-01T12:00:00Z"}]"#
    #expect(try home.coffer("import -q --from json -", in: Data(items.utf8)).status == 0)
  }

  @Test func `a list marks codes and fields, says what has expired, and leaves the rest blank`() throws {
    let home = try Self.home()
    try home.transcript("vault set bank ann --label 'Main bank'", in: "v")
    try home.transcript("vault set bank ann --field pin", in: "1")
    try home.transcript("vault set bank ann --field tan", in: "2")
    try home.transcript("vault otp --set bank ann", in: "JBSWY3DPEHPK3PXP")
    try Self.importExpired("soon", in: home)
    let lines = try Self.shown("vault list", in: home)
    #expect(lines[1] == "bank     ann      Main bank  ⏱ ⚿2  just now", "\(lines)")
    #expect(lines[2].contains("expired 1 Jan 2020") && !lines[2].contains("–"), "\(lines)")
    #expect(lines[3] == "2 items · 1 expired")
    home.environment["LANG"] = "C"
    #expect(try Self.shown("vault list", in: home)[1].contains("otp +2"))
    let sheet = try Self.shown("vault show bank ann", in: home)
    #expect(sheet.contains { $0.hasPrefix("  code      ********   coffer otp bank/ann") }, "\(sheet)")
  }

  @Test func `a tree has a line for each service, below the folders that its slashes make`() throws {
    let home = try Self.home()
    for name in [
      "web/site1.example.com ada", "web/site10.example.com ada", "work/aws/dev root", "work/aws/prod root", "work/aws/prod me",
      "https://h.example/x ada", "web",
    ] {
      try home.transcript("vault set \(name)", in: "v")
    }
    try home.transcript("vault otp --set work/aws/prod root", in: "JBSWY3DPEHPK3PXP")
    let tree = """
      https://h.example/x  ada
      web
      web/
      ├── site1.example.com   ada
      └── site10.example.com  ada
      work/aws/
      ├── dev   root
      └── prod  me, root ⏱

      """
    try home.transcript("vault list --tree", out: tree)
    for columns in [20, 60, 120] {
      let lines = try Self.shown("vault list --tree", in: home, columns: columns)
      #expect(lines.count == 9 && lines.allSatisfy { Cells.count($0) <= columns }, "\(lines)")
    }
    home.environment["LANG"] = "C"
    #expect(try Self.shown("vault list --tree", in: home).contains("`-- prod  me, root otp"))
  }

  @Test func `a tree shows an empty account beside another, and an account beside a name that is too long`() throws {
    let home = try Self.home()
    for name in ["Wifi ''", "Wifi 2", "a-very-long-host.example.com ada"] { try home.transcript("vault set \(name)", in: "v") }
    let lines = try Self.shown("vault list --tree", in: home, columns: 20)
    #expect(lines.contains("Wifi  '', 2") && lines.contains { $0.hasPrefix("a-very-") && $0.hasSuffix("…  ada") }, "\(lines)")
  }

  @Test func `the log has a heading for each day, and a line in words for each event, the newest first`() throws {
    let home = try Self.home()
    try home.transcript("vault set bank ann", in: "v")
    try home.transcript("vault delete bank ann")
    try home.transcript("login gitlab.example --account ada --with-token -q", in: "t0k")
    let lines = try Self.shown("vault log", in: home, columns: 120)
    #expect(lines.first?.wholeMatch(of: /[0-9]{1,2} [A-Z][a-z]{2}/) != nil, "\(lines)")
    for event in [
      /[0-9:]{5}  gitlab\.example\/ada +logged in +[^ ]+, coffer/, /[0-9:]{5}  bank\/ann +deleted +[^ ]+, coffer/,
      /[0-9:]{5}  bank\/ann +changed +[^ ]+, coffer/, /[0-9:]{5}  – +unlocked by key file +[^ ]+, coffer/,
    ] {
      #expect(lines.contains { $0.wholeMatch(of: event) != nil }, "\(lines)")
    }
    #expect(lines.last?.hasSuffix(" entries") == true && lines[lines.count - 2].contains("vault created"), "\(lines)")
    // Of several slots, the one that wrote is named.
    let slot = try #require(home.coffer("vault slot list").out.split(separator: "\t").first)
    try home.transcript("vault slot label \(slot) grace")
    try home.transcript("vault slot add --new-key-file \(home.path)/second -q")
    try home.transcript("vault set bank bob", in: "v")
    let named = try Self.shown("vault log", in: home, columns: 120)
    #expect(named.contains { $0.wholeMatch(of: /[0-9:]{5}  bank\/bob +changed +grace, [^ ]+, coffer/) != nil }, "\(named)")
  }

  @Test func `doctor counts secrets in plain text by their files, and lists each with --all`() throws {
    let home = try Home.sound()
    home.environment.merge(["TERM": "xterm", "LANG": "C.UTF-8", "NO_COLOR": "1", "HOME": home.path]) { $1 }
    _ = try home.file(".git-credentials", "https://ada:hunter2@a.example\nhttps://bob:hunter2@b.example\n")
    _ = try home.file(".npmrc", "//registry/:_authToken=hunter2\n")
    let lines = try Self.shown("doctor", in: home, exit: 2)
    #expect(lines.contains("! 3 secrets in plain text: coffer doctor --fix moves 2 of them"), "\(lines)")
    #expect(lines.contains("  ~/.git-credentials  2 passwords (git)"), "\(lines)")
    #expect(lines.contains("  ~/.npmrc            1 token (npm)      by hand: coffer doctor --all"), "\(lines)")
    let all = try Self.shown("doctor --all", in: home, columns: 200, exit: 2)
    #expect(
      all.contains { $0.contains("git keeps passwords in the clear") }
        && all.contains { $0.contains("try: coffer set npm") })
  }

  @Test func `status counts the items of an unlocked vault, and tells the age of the last backup`() throws {
    let home = try Self.home()
    try Self.importExpired("a", in: home)
    try home.transcript("vault set b --expires 5d", in: "v")
    let first = try Self.shown("status", in: home)
    #expect(first.contains("Backup       none yet; coffer backup FILE creates one") && first.contains("Preferences  none"))
    try home.transcript("backup -q \(home.path)/copy")
    try home.transcript("unlock --quiet")
    defer { _ = try? home.coffer("agent stop") }
    let lines = try Self.shown("status", in: home, columns: 200)
    #expect(lines.first?.hasSuffix("   2 items, 1 expired, 1 expires soon") == true, "\(lines)")
    #expect(lines.contains("Backup       just now (\(home.path)/copy)"), "\(lines)")
    let memory = "\(home.path)/state/backup-\(try home.vaultID())"
    #expect(home.mode("state/backup-\(try home.vaultID())") == 0o600)
    let old = Date(timeIntervalSinceNow: -40 * 86_400)
    try FileManager.default.setAttributes([.modificationDate: old], ofItemAtPath: memory)
    home.environment["NO_COLOR"] = nil
    #expect(try Self.shown("status", in: home, columns: 200).contains { $0.contains("\u{1B}[33m") && $0.contains("/copy)") })
  }

  @Test func `a time that has just begun is shown whole, and one byte is one byte`() throws {
    let home = try Self.home()
    try home.transcript("vault set a", in: "v")
    #expect(try home.coffer("vault history a").out.contains("\t1 byte\t"))
    let lines = try Self.shown("unlock --idle 5s", in: home, columns: 200)
    _ = try home.coffer("agent stop")
    #expect(lines.contains { $0.contains("5 s after the last use") }, "\(lines)")
  }
}
