import CofferTestSupport
import Foundation
import Testing

@Suite(.tags(.process), .wholeRun)
struct FirstHourTests {
  @Test
  func `init says what the passphrase is for, offers a recovery code and names the next step`() throws {
    let home = try Home()
    let terminal = try PseudoTerminal()
    let child = try terminal.coffer("init", in: home)
    terminal.shows("This passphrase will open your vault,")
    terminal.shows("\(home.path)/data/vault.sqlite.")
    terminal.shows("New passphrase: ")
    terminal.type("plum sofa kite unit\n")
    terminal.shows("The same again: ")
    terminal.type("plum sofa kite unit\n")
    terminal.shows("Make a recovery code too? It opens the vault if you forget the passphrase. [y/N] ")
    terminal.type("y\n")
    #expect(try child.wait() == 0)
    terminal.shows("this recovery code opens the vault; write it down, it is shown once:")
    terminal.shows("  coffer set github.com/ada  stores a password")
    #expect(try home.coffer("status").out.contains("recovery code"))
  }

  @Test
  func `control-C at the offer of a recovery code leaves the vault that was told of`() throws {
    let home = try Home()
    let terminal = try PseudoTerminal()
    let child = try terminal.coffer("init", in: home)
    for prompt in ["New passphrase: ", "The same again: "] {
      terminal.shows(prompt)
      terminal.type("plum sofa kite unit\n")
    }
    terminal.shows("made a vault at \(home.path)/data/vault.sqlite")
    terminal.shows("[y/N] ")
    terminal.type("\u{3}")
    #expect(try child.wait() == 130)
    let status = try home.coffer("status")
    #expect(status.status == 0 && status.out.contains("passphrase") && !status.out.contains("recovery code"), "\(status.out)")
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

  @Test(arguments: ["", "--help", "vault --help", "help importing", "--help --all", "vault set --help --all"])
  func `help that is longer than the screen goes to the pager, and the first page fits a screen`(line: String) throws {
    let home = try Home()
    home.environment["COFFER_PAGER"] = "echo paged; cat"
    home.environment["TERM"] = "xterm"
    let terminal = try PseudoTerminal((200, 24))
    let child = try terminal.coffer(line, in: home)
    terminal.showsAll()
    let isScreen = ["", "--help", "vault --help"].contains(line)
    #expect(try child.wait() == 0 && terminal.shown.contains("paged") == !isScreen, "\(terminal.shown)")
    #expect(terminal.shown.contains("\u{1B}[1m"))
  }

  @Test
  func `install tells a person what comes next, and uninstall how much went`() throws {
    let home = try Home()
    home.environment.merge(["TERM": "xterm", "LANG": "C.UTF-8", "NO_COLOR": "1"]) { $1 }
    let terminal = try PseudoTerminal((200, 24))
    #expect(try terminal.coffer("install --completions --prefix \(home.path)/p", in: home).wait() == 0)
    terminal.showsAll()
    for line in [
      "✓ copied  \(home.path)/p/bin/coffer", "Next:", "  PATH    export PATH=", "  zsh     fpath+=", "  git     git config",
    ] {
      #expect(terminal.shown.contains(line), "\(terminal.shown)")
    }
    let second = try PseudoTerminal((200, 24))
    #expect(try second.coffer("install --remove --prefix \(home.path)/p", in: home).wait() == 0)
    second.showsAll()
    #expect(second.shown.contains(" files below \(home.path)/p, coffer among them"), "\(second.shown)")
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
