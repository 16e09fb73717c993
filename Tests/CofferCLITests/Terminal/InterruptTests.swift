import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI

/// Control-C and a closed window during progress output and in a pager.
@Suite(.tags(.process), .wholeRun)
struct InterruptTests {
  private static func home(items: Int) throws -> Home {
    let home = try Home.withVault()
    let text = (0..<items).map { #"{"service":"s\#($0)","account":"a","value":"v"}"# }.joined(separator: ",")
    #expect(try home.coffer("import -q --from json \(home.file("items.json", "[\(text)]"))").status == 0)
    home.environment.merge(["TERM": "xterm", "LANG": "C.UTF-8", "NO_COLOR": "1"]) { $1 }
    return home
  }

  @Test func `control-C at a bar takes the line away, says that nothing was changed, and ends by the signal`() throws {
    let home = try Self.home(items: 4000)
    let terminal = try PseudoTerminal((80, 24))
    let child = try terminal.coffer("vault rotate --yes", in: home)
    terminal.shows(" of 4 000 items")
    kill(child.id, SIGINT)
    terminal.showsAll()
    #expect(try child.wait() == 128 + SIGINT)
    #expect(terminal.shown.hasSuffix("\r\u{1B}[Kcoffer: interrupted; nothing was changed\r\n"), "\(terminal.shown.suffix(200))")
    #expect(try home.coffer("status --details").out.contains("\nepoch       1\n"))
    try home.transcript("vault verify", out: "All 4 000 records are intact.\n")
  }

  @Test func `a terminal that vanishes ends the work, and the vault is whole`() throws {
    let home = try Self.home(items: 4000)
    let terminal = try PseudoTerminal((80, 24))
    let child = try terminal.coffer("vault rotate --yes", in: home)
    terminal.shows(" of 4 000 items")
    terminal.vanish()
    _ = try child.wait()
    try home.transcript("vault verify", out: "All 4 000 records are intact.\n")
  }

  @Test func `a list that is longer than the screen goes to the pager, which control-C does not end`() throws {
    let home = try Self.home(items: 40)
    // A pager that reports the signal, as less(1) does, and continues. It waits with programs that a signal ends: read(1)
    // would sleep on after a signal just before it.
    let script =
      "trap 'told=1; echo told' INT; read first; echo \"first: $first\"; until [ $told ]; do sleep 0.1; done; "
      + "read word </dev/tty; cat | tail -1"
    home.environment["COFFER_PAGER"] = script
    let terminal = try PseudoTerminal((80, 24))
    let child = try terminal.coffer("vault list", in: home)
    terminal.shows("first: SERVICE  ACCOUNT  CHANGED")
    terminal.type("\u{3}")
    terminal.shows("told")
    terminal.type("go\n")
    terminal.shows("40 items")
    #expect(try child.wait() == 0)
  }

  @Test(arguments: [("cat >/dev/null", false), ("head -1", false), ("no-such-pager", true), ("cat", true), ("", true)])
  func `a pager may end early, be missing or be none`(pager: String, isPrinted: Bool) throws {
    let (status, shown) = try Self.list(by: pager)
    #expect(status == 0 && shown.contains("40 items") == isPrinted, "\(shown)")
  }

  @Test(arguments: [("false", "status 1"), ("kill -TERM $$", "signal 15"), ("exit 126", "status 126")])
  func `a pager that fails is told of by its name, and the answer counts as not printed`(pager: String, said: String) throws {
    let (status, shown) = try Self.list(by: pager)
    #expect(status == 74)
    #expect(
      shown.contains("The pager '\(pager)' of COFFER_PAGER ended with \(said), and may not have shown the answer"), "\(shown)")
    #expect(shown.contains("try: COFFER_PAGER=cat, which prints it at once"), "\(shown)")
  }

  @Test(arguments: ["kill -INT $$", "kill -PIPE $$", "sh -c 'kill -INT $$'; exit $?"])
  func `a pager that the reader ended has shown what was wanted`(pager: String) throws {
    #expect(try Self.list(by: pager).status == 0)
  }

  private static func list(by pager: String) throws -> (status: Int32, shown: String) {
    let home = try home(items: 40)
    home.environment["COFFER_PAGER"] = pager
    let terminal = try PseudoTerminal((200, 24))
    let child = try terminal.coffer("vault list", in: home)
    terminal.showsAll()
    return (try child.wait(), terminal.shown)
  }

  @Test func `a list that fits the screen, a screen of unknown size, and a dumb terminal have no pager`() throws {
    let home = try Self.home(items: 20)
    home.environment["COFFER_PAGER"] = "echo paged; cat"
    for (size, terminal) in [((80, 40), "xterm"), (nil, "xterm"), ((80, 10), "dumb")] as [((Int, Int)?, String)] {
      home.environment["TERM"] = terminal
      let terminal = try PseudoTerminal(size.map { (columns: $0.0, lines: $0.1) })
      let child = try terminal.coffer("vault list", in: home)
      terminal.showsAll()
      #expect(try child.wait() == 0 && !terminal.shown.contains("paged") && terminal.shown.contains("20 items"))
    }
  }

  @Test func `a wait for a key is told of, and neither before it is typed nor where nobody looks`() throws {
    let home = try Home()
    let file = try home.file("passphrase", "correct horse battery staple of this test")
    try home.transcript("init -q --new-passphrase-file \(file)")
    home.environment.merge(["TERM": "xterm", "LANG": "C.UTF-8"]) { $1 }
    let terminal = try PseudoTerminal((80, 24))
    let child = try terminal.coffer("vault list --no-agent", in: home)
    terminal.shows("vault.sqlite: ")
    #expect(!terminal.shown.contains("Unlocking"))
    terminal.type("correct horse battery staple of this test\n")
    terminal.shows("Unlocking")
    terminal.showsAll()
    #expect(try child.wait() == 0)
    #expect(terminal.shown.contains("\r\u{1B}[K\u{1B}[2mno items"), "\(terminal.shown)")
    #expect(try home.coffer("vault list --passphrase-file \(file)").err.isEmpty)
  }
}
