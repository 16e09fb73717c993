import CofferTestSupport
import Foundation
import Testing

@Suite(.tags(.process), .wholeRun)
struct FirstHourTests {
  @Test
  func `init says what the passphrase is for, makes a recovery code, unlocks the vault and names the next step`() throws {
    let home = try Home()
    let terminal = try PseudoTerminal()
    let child = try terminal.coffer("init", in: home)
    terminal.shows("This passphrase will open your vault,")
    terminal.shows("\(home.path)/data/vault.sqlite.")
    terminal.shows("New passphrase: ")
    terminal.type("plum sofa kite unit\n")
    terminal.shows("Repeat: ")
    terminal.type("plum sofa kite unit\n")
    terminal.shows("Create a recovery code, in case you forget the passphrase? [Y/n] ")
    terminal.type("\n")
    #expect(try child.wait() == 0)
    terminal.shows("OK Vault created and unlocked for 15 minutes.\r\n")
    terminal.shows("This recovery code opens the vault:\r\n")
    terminal.shows("\r\nWrite it down. It is not shown again. This terminal cannot clear it from the screen.\r\n")
    terminal.shows("  coffer set github.com/ada  stores a password")
    #expect(try home.coffer("status").out.contains("recovery code"))
    try home.transcript("vault list")
  }

  @Test(arguments: [(80, "\r"), (20, "\r"), (60, "\u{3}")])
  func `a new recovery code stands in a box, and Enter leaves nothing of it on the screen`(columns: Int, key: String) throws {
    let home = try Home.withVault()
    home.environment.merge(["TERM": "xterm", "LANG": "C.UTF-8", "NO_COLOR": "1"]) { $1 }
    let terminal = try PseudoTerminal((columns, 24))
    let child = try terminal.coffer("vault slot add --recovery-code", in: home)
    terminal.shows("the screen.")
    terminal.type("x" + key)
    terminal.showsAll()
    #expect(try child.wait() == 0)
    let erased = (1...24).reversed().map { "\u{1B}[\($0);1H\u{1B}[2K" }.joined() + "\u{1B}[?1049l"
    let parts = terminal.shown.components(separatedBy: erased)
    #expect(parts.count == 2 && parts[1].hasPrefix("✓ added slot"), "\(terminal.shown)")
    // The last drawing: after the key that means nothing.
    let screen = try #require(parts[0].components(separatedBy: "\u{1B}[1;1H").last)
    let code = screen.matches(of: /│  ([0-9A-Z-]+) *│/).map { $0.1 }.joined()
    try home.transcript("vault list --recovery-file \(home.file("code", code))")
  }

  @Test
  func `control-C at the offer of a recovery code leaves nothing`() throws {
    let home = try Home()
    let terminal = try PseudoTerminal()
    let child = try terminal.coffer("init", in: home)
    for prompt in ["New passphrase: ", "Repeat: "] {
      terminal.shows(prompt)
      terminal.type("plum sofa kite unit\n")
    }
    terminal.shows("[Y/n] ")
    terminal.type("\u{3}")
    #expect(try child.wait() == 130)
    #expect(!home.exists("data") && !home.exists("run"))
  }

  @Test
  func `without a code and without the agent a vault is only created`() throws {
    let home = try Home()
    let terminal = try PseudoTerminal()
    let child = try terminal.coffer("init --no-agent", in: home)
    for prompt in ["New passphrase: ", "Repeat: "] {
      terminal.shows(prompt)
      terminal.type("plum sofa kite unit\n")
    }
    terminal.shows("[Y/n] ")
    terminal.type("coffer status\n")
    terminal.shows("Please answer y or n. Create a recovery code")
    terminal.type("n\n")
    #expect(try child.wait() == 0)
    terminal.shows("OK Vault created at \(home.path)/data/vault.sqlite.")
    terminal.shows("To add a recovery code later: coffer vault slot add --recovery-code\r\n")
    terminal.shows("  coffer help                shows the rest\r\n")
    #expect(try !home.coffer("status").out.contains("recovery code") && !home.exists("run/agent.sock"))
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
    #expect(second.shown.contains(" files below \(home.path)/p"), "\(second.shown)")
  }

  @Test
  func `lock and agent stop say at a terminal what they did, and nothing to a pipe`() throws {
    let home = try Home.withVault()
    let terminal = try PseudoTerminal()
    #expect(try terminal.coffer("lock", in: home).wait() == 0)
    terminal.shows("nothing to lock: no agent is running")
    try home.transcript("lock")
    #expect(try home.coffer("unlock").status == 0)
    let second = try PseudoTerminal()
    #expect(try second.coffer("lock", in: home).wait() == 0)
    second.shows("locked: the agent has wiped its keys")
    let third = try PseudoTerminal()
    #expect(try third.coffer("agent stop", in: home).wait() == 0)
    third.shows("stopped: the agent has wiped its keys")
  }
}
