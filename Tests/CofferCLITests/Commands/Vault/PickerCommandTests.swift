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

  private func opened(_ home: Home, _ size: (Int, Int) = (60, 8)) throws -> (terminal: PseudoTerminal, child: Child) {
    let terminal = try PseudoTerminal(size)
    let child = try terminal.coffer("vault get github.com", in: home)
    terminal.shows("Esc: leave")
    #expect(!terminal.takesLines && !terminal.echoes)
    return (terminal, child)
  }

  @Test
  func `a person picks an item from a list that narrows, and nothing of it stays on the screen`() throws {
    let home = try home()
    let (terminal, child) = try opened(home)
    terminal.type("b.太")
    terminal.shows("1 of 3")
    terminal.type("\u{17}bo\r")
    terminal.showsAll()
    #expect(try child.wait() == 0)
    let erased = (1...8).reversed().map { "\u{1B}[\($0);1H\u{1B}[2K" }.joined()
    #expect(terminal.shown.hasSuffix(erased + Self.leaving + "value-two\r\n"), "\(terminal.shown)")
    #expect(terminal.shown.components(separatedBy: "value-").count == 2)
    #expect(terminal.takesLines && terminal.echoes)
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
  func `two lists at once answer each its own terminal`() throws {
    let home = try home()
    let (one, other) = (try opened(home), try opened(home))
    one.terminal.type("ada\r")
    other.terminal.type("bob\r")
    for (terminal, child, value) in [(one.terminal, one.child, "value-one"), (other.terminal, other.child, "value-two")] {
      terminal.showsAll()
      #expect(try child.wait() == 0)
      #expect(terminal.shown.hasSuffix(value + "\r\n"))
    }
  }
}
