import CofferTestSupport
import Foundation
import Testing

/// What a new user is told at a terminal.
@Suite(.tags(.process), .wholeRun)
struct FirstHourTests {
  @Test
  func `init says what the passphrase is for, offers a recovery code and names the next step`() throws {
    let home = try Home()
    let terminal = try PseudoTerminal()
    let child = try terminal.coffer("init", in: home)
    terminal.shows("This passphrase will open your vault, \(home.path)/data/vault.sqlite.")
    terminal.shows("New passphrase: ")
    terminal.type("plum sofa kite unit\n")
    terminal.shows("The same again: ")
    terminal.type("plum sofa kite unit\n")
    terminal.shows("Make a recovery code too? It opens the vault if you forget the passphrase. [y/N] ")
    terminal.type("y\n")
    #expect(try child.wait() == 0)
    terminal.shows("this recovery code opens the vault; write it down, it is shown once:")
    terminal.shows("next: 'coffer vault set github.com ada' stores a password")
    #expect(try home.coffer("status").out.contains("recovery code"))
  }

  @Test
  func `who says no gets a vault without a code, and a pipe is asked nothing`() throws {
    let home = try Home()
    let terminal = try PseudoTerminal()
    let child = try terminal.coffer("init", in: home)
    for prompt in ["New passphrase: ", "The same again: "] {
      terminal.shows(prompt)
      terminal.type("plum sofa kite unit\n")
    }
    terminal.shows("[y/N] ")
    terminal.type("\n")
    #expect(try child.wait() == 0)
    #expect(try !home.coffer("status").out.contains("recovery code"))
  }

  @Test
  func `lock says at a terminal what it did, and nothing to a pipe`() throws {
    let home = try Home.withVault()
    let terminal = try PseudoTerminal()
    #expect(try terminal.coffer("lock", in: home).wait() == 0)
    terminal.shows("nothing to lock: no agent is running")
    try home.transcript("lock")
    #expect(try home.coffer("unlock").status == 0)
    let second = try PseudoTerminal()
    #expect(try second.coffer("lock", in: home).wait() == 0)
    second.shows("locked: the agent has wiped its keys")
  }
}
