import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI

@Suite(.tags(.process), .defaultRun)
struct PickerCommandTests {
  private static let leaving = "\u{1B}[?1049l"

  private func home() throws -> Home {
    let home = try Home.withVault()
    home.environment.merge(["TERM": "xterm", "LANG": "C.UTF-8", "NO_COLOR": "1"]) { $1 }
    for (account, value) in [("ada", "value-one"), ("bob", "value-two"), ("太郎", "value-three")] {
      try home.transcript("vault set github.com \(account) --label 'of \(account)'", in: value)
    }
    return home
  }

  private func opened(
    _ home: Home, _ line: String = "vault get github.com"
  ) throws -> (terminal: PseudoTerminal, child: Child) {
    let terminal = try PseudoTerminal((80, 8))
    let child = try terminal.coffer(line, in: home)
    terminal.shows("Esc: leave")
    #expect(!terminal.takesLines && !terminal.echoes)
    return (terminal, child)
  }

  @Test
  func `a person picks an item from a list that narrows, and nothing of it stays on the screen`() throws {
    let home = try home()
    let (terminal, child) = try opened(home)
    // Control-S stops other output.
    terminal.type("\u{13}b.太")
    terminal.shows("1 of 3")
    terminal.type("\u{17}\u{1B}[200~bo\r\u{1B}[201~")
    terminal.shows("Which item? bo")
    terminal.type("\r")
    terminal.showsAll()
    #expect(try child.wait() == 0)
    let erased = (1...8).reversed().map { "\u{1B}[\($0);1H\u{1B}[2K" }.joined()
    #expect(terminal.shown.hasSuffix(erased + Self.leaving + "value-two\r\n"), "\(terminal.shown)")
    #expect(terminal.shown.components(separatedBy: "value-").count == 2)
    #expect(terminal.shown.contains("\u{1B}[?2004h") && terminal.shown.contains("\u{1B}[?2004l"), "it asks for marks of a paste")
    #expect(terminal.takesLines && terminal.echoes)
  }

  @Test
  func `a command without a name takes an item from the list, or copies its code or user name if there is one`() throws {
    let home = try home()
    home.environment["COFFER_CLIPBOARD"] = "none"
    let early = try PseudoTerminal((80, 8))
    let refused = try early.coffer("get", in: home)
    early.showsAll()
    #expect(try refused.wait() == 64 && !early.shown.contains("Which item"), "the clipboard is looked for before the question")
    home.environment["COFFER_CLIPBOARD"] = "osc52"
    try home.transcript("vault set bare", in: "value-four")
    try home.transcript("vault otp --set github.com ada", in: "JBSWY3DPEHPK3PXP")
    let (list, getting) = try opened(home, "get")
    list.type("bare\u{F}")
    list.shows("this item has no one-time code")
    list.type("\u{15}")
    list.shows("this item has no user name")
    list.type("\u{17}ada\u{F}")
    list.showsAll()
    #expect(try getting.wait() == 0 && list.shown.contains("the code of github.com/ada"), "\(list.shown)")
    let value = "]52;c;\(Data("value-two".utf8).base64EncodedString())\u{7}"
    for (line, keys, end) in [
      ("delete", "bob\u{15}", "]52;c;Ym9i\u{7}"), ("get", "bob\r", value), ("otp", "\r", " s\r\n"),
      ("show", "bob\r", "copy: coffer get github.com/bob -c"),
    ] {
      let (terminal, child) = try opened(home, line)
      terminal.type(keys)
      terminal.showsAll()
      #expect(try child.wait() == 0)
      let parts = terminal.shown.components(separatedBy: Self.leaving)
      #expect(parts.count == 2 && parts[1].contains(end) && !terminal.shown.contains("value-"), "\(line): \(terminal.shown)")
    }
  }

  @Test
  func `a terminal that cannot draw numbers the same items with their labels, up to 20`() throws {
    let home = try home()
    home.environment["TERM"] = "dumb"
    let few = try PseudoTerminal()
    let showing = try few.coffer("show", in: home)
    few.shows("  1) github.com/ada  of ada\r\n  2) github.com/bob  of bob\r\n  3) github.com/太郎  of 太郎\r\nWhich one (1 to 3)? ")
    few.type("2\n")
    few.showsAll()
    #expect(try showing.wait() == 0)
    #expect(few.shown.contains("copy: coffer get github.com/bob -c") && !few.shown.contains("\u{1B}"), "\(few.shown)")
    let lines = (1...18).map { "NAME_\($0)=v\n" }.joined()
    #expect(try home.coffer("import --from env --service app \(home.file("items.env", lines)) --yes").status == 0)
    let many = try PseudoTerminal()
    let refused = try many.coffer("show", in: home)
    many.shows("this terminal cannot show a list of 21 items")
    #expect(try refused.wait() == 64)
  }

  @Test
  func `Esc, control-D and control-C leave with 130, and nothing is done`() throws {
    let home = try home()
    for (key, said) in [
      ("\u{1B}", ""), ("\u{1B}\u{1B}", ""), ("\u{4}", ""), ("\u{3}", "coffer: interrupted\r\n"),
    ] {
      let (terminal, child) = try opened(home)
      terminal.type(key)
      terminal.showsAll()
      #expect(try child.wait() == 130)
      #expect(terminal.shown.hasSuffix(Self.leaving + said) && !terminal.shown.contains("value-"), "\(terminal.shown)")
      #expect(terminal.takesLines && terminal.echoes)
    }
  }

  @Test(arguments: [SIGTERM, SIGHUP, SIGQUIT])
  func `a signal that ends the process brings the screen and the settings back first`(signal: Int32) throws {
    let home = try home()
    let (terminal, child) = try opened(home)
    kill(child.id, signal)
    terminal.showsAll()
    #expect(try child.wait() == 128 + signal)
    #expect(terminal.shown.hasSuffix(Self.leaving) && terminal.takesLines && terminal.echoes, "\(terminal.shown)")
  }

  @Test
  func `a terminal that vanishes ends the choice by its signal`() throws {
    let home = try home()
    let (terminal, child) = try opened(home)
    terminal.vanish()
    #expect(try child.wait() == 128 + SIGHUP)
  }

  // The process leads a session without a shell, so the kernel drops the stop of control-Z; only restore and list remain.
  @Test(arguments: [[SIGTSTP], [SIGSTOP, SIGCONT]])
  func `a list that was stopped is drawn again`(signals: [Int32]) throws {
    let home = try home()
    let (terminal, child) = try opened(home)
    for signal in signals { kill(child.id, signal) }
    terminal.shows(Self.leaving + "\u{1B}[?1049h")
    terminal.type("bob\r")
    terminal.showsAll()
    #expect(try child.wait() == 0)
    #expect(terminal.shown.hasSuffix(Self.leaving + "value-two\r\n") && terminal.takesLines && terminal.echoes)
  }

  @Test
  func `kill ends a list that control-Z stopped`() throws {
    let home = try home()
    let terminal = try PseudoTerminal()
    guard
      let shell = try terminal.program(["bash", "--norc", "--noprofile", "-i", "-b"], in: home, with: ["PS1": "> "])
    else { try Test.skip(without: "bash") }
    terminal.type("\(Home.coffer) get\n")
    terminal.shows("Esc: leave")
    terminal.type("\u{1A}")
    terminal.shows("Stopped")
    terminal.type("kill %1\n")
    terminal.shows("Terminated")
    terminal.vanish()
    #expect(try shell.wait() == 128 + SIGHUP)
  }

  @Test
  func `a list fits a window that becomes small, and a key whose bytes come apart is one key`() throws {
    let home = try home()
    let (terminal, child) = try opened(home)
    try terminal.resize((20, 4))
    let lines = ["> ", "> github.com/ada", "  github.com/bob", "3  Enter: choose"]
    terminal.shows(lines.enumerated().map { "\u{1B}[\($0.offset + 1);1H\($0.element)\u{1B}[K" }.joined())
    terminal.type("\u{1B}[")
    terminal.type("B\u{1B}OB")
    terminal.shows("> github.com/太郎")
    terminal.type("\r")
    terminal.showsAll()
    #expect(try child.wait() == 0)
    #expect(terminal.shown.hasSuffix("value-three\r\n"))
  }

  @Test
  func `two lists at once answer each its own terminal, and an item that is gone by then is an error`() throws {
    let home = try home()
    let (one, other) = (try opened(home), try opened(home))
    try home.transcript("vault delete github.com bob --yes")
    one.terminal.type("ada\r")
    other.terminal.type("bob\r")
    let ends: [(PseudoTerminal, Child, String, Int32)] = [
      (one.terminal, one.child, "value-one", 0), (other.terminal, other.child, "the item was deleted just now", 75),
    ]
    for (terminal, child, text, status) in ends {
      terminal.showsAll()
      #expect(try child.wait() == status)
      #expect(terminal.shown.components(separatedBy: Self.leaving).last?.contains(text) == true, "\(terminal.shown)")
    }
  }
}
