import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI

@Suite(.tags(.process), .defaultRun)
struct PromptTests {
  @Test
  func `control-C at the hidden prompt brings the echo back and exits with 130`() throws {
    let home = try Home()
    let terminal = try PseudoTerminal()
    #expect(terminal.echoes)
    let child = try terminal.coffer("init", in: home)
    terminal.shows("New passphrase: ")
    #expect(!terminal.echoes)
    terminal.type("hunter2")
    usleep(100_000)  // No event: nothing of it is shown.
    terminal.type("\u{3}")
    #expect(try child.wait() == 130)
    #expect(terminal.echoes)
    #expect(!terminal.shown.contains("hunter2") && !home.exists("data"))
  }

  @Test(arguments: [SIGTERM, SIGHUP, SIGQUIT])
  func `a signal that ends the process brings the echo back first`(signal: Int32) throws {
    let home = try Home()
    let terminal = try PseudoTerminal()
    let child = try terminal.coffer("init", in: home)
    terminal.shows("New passphrase: ")
    #expect(!terminal.echoes)
    kill(child.id, signal)
    #expect(try child.wait() == 128 + signal)
    #expect(terminal.echoes)
  }

  @Test
  func `control-Z brings the echo back, and continuing asks again without it`() throws {
    let home = try Home()
    let terminal = try PseudoTerminal()
    let child = try terminal.coffer("init", in: home)
    terminal.shows("New passphrase: ")
    // The process leads a session without a shell, so the kernel drops the stop; only restore and prompt remain.
    kill(child.id, SIGTSTP)
    terminal.shows("New passphrase: \r\nNew passphrase: ")
    #expect(!terminal.echoes)
    terminal.type("\u{3}")
    #expect(try child.wait() == 130)
    #expect(terminal.echoes)
  }

  @Test
  func `a new secret is asked for three times, and nothing is stored after the third`() throws {
    let home = try Home()
    let terminal = try PseudoTerminal()
    let child = try terminal.coffer("init", in: home)
    terminal.shows("New passphrase: ")
    terminal.type("plum sofa kite unit\n")
    terminal.shows("Repeat: ")
    terminal.type("plum sofa kite\n")
    terminal.shows("The entries do not match. Try again (2 left).\r\nNew passphrase: ")
    terminal.type("\n")
    terminal.shows("Nothing was entered. Try again (1 left).\r\nNew passphrase: ")
    terminal.type("abc\n")
    #expect(try child.wait() == 64)
    terminal.shows("\r\nERROR The passphrase is easy to guess: characters in sequence.\r\n")
    #expect(!terminal.shown.contains("plum") && !terminal.shown.contains("abc") && terminal.echoes && !home.exists("data"))
  }

  @Test
  func `control-D ends a prompt, and the error stands on a line of its own`() throws {
    let home = try Home()
    let terminal = try PseudoTerminal()
    let child = try terminal.coffer("init", in: home)
    terminal.shows("New passphrase: ")
    terminal.type("\u{4}")
    #expect(try child.wait() == 64)
    terminal.shows("New passphrase: \r\nERROR Nothing was entered.\r\n")
  }

  @Test
  func `without a terminal nothing is asked: exit 69 and the list of sources`() throws {
    let home = try Home()
    try home.transcript("init", err: "there is no terminal to ask at\n  try: --new-passphrase-file PATH", exit: 69)
  }
}
