import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI

@Suite(.tags(.process), .defaultRun)
struct TerminalClipboardTests {
  private func home() throws -> Home {
    let home = try Home.withVault()
    try home.transcript("vault set github", in: "hunter2")
    home.environment["TERM"] = "xterm-256color"
    return home
  }

  @Test(
    arguments: [
      [:], ["DISPLAY": ":9", "SSH_CONNECTION": "10.0.0.1 5 10.0.0.2 22"],
      ["WAYLAND_DISPLAY": "wayland-9", "SSH_TTY": "/dev/pts/9"],
      ["DISPLAY": ":9", "COFFER_CLIPBOARD": "osc52"],
    ] as [[String: String]])
  func `without a display, and over ssh, the terminal is handed the value`(variables: [String: String]) throws {
    let home = try home()
    home.environment.merge(variables) { $1 }
    let terminal = try PseudoTerminal()
    let child = try terminal.coffer("vault get github -c", in: home)
    terminal.showsAll()
    #expect(try child.wait() == 0)
    #expect(
      terminal.shown == "\u{1B}]52;c;aHVudGVyMg==\u{7}coffer: note: sent the value of github to your terminal's "
        + "clipboard (OSC 52); not every terminal supports this, and it will not be cleared\r\n")
  }

  @Test func `the sequence goes to the terminal, wherever the output goes, and through tmux to the terminal behind it`() throws {
    let home = try home()
    home.environment["TMUX"] = "/tmp/tmux-0/default,1,0"
    let terminal = try PseudoTerminal()
    let words = ["sh", "-c", "exec >'\(home.path)/out' 2>&1; exec '\(Home.coffer)' vault get github -qc"]
    let child = try #require(try terminal.program(words, in: home))
    terminal.showsAll()
    #expect(try child.wait() == 0)
    #expect(try home.content("out").isEmpty)
    #expect(terminal.shown == "\u{1B}Ptmux;\u{1B}\u{1B}]52;c;aHVudGVyMg==\u{7}\u{1B}\\")
  }

  @Test func `what a terminal's clipboard cannot do is refused`() throws {
    let home = try home()
    for (size, status) in [(74_994, 0), (74_995, 64)] as [(Int, Int32)] {
      #expect(try home.coffer("vault set long", in: Data(repeating: 0x61, count: size)).status == 0)
      let terminal = try PseudoTerminal()
      let child = try terminal.coffer("vault get long -c", in: home)
      terminal.showsAll()
      #expect(try child.wait() == status)
      #expect(terminal.shown.contains("52;c;") == (status == 0))
    }
    try home.transcript(
      "vault get github -c --clipboard osc52 --clear-after 5", err: "the terminal's clipboard cannot be read", exit: 64)
    try home.transcript("vault get github -c", err: "there is no terminal", exit: 1)
    try home.transcript("vault get github -c --clipboard osc52", err: "could not open the terminal for its clipboard", exit: 74)
    home.environment["TERM"] = "dumb"
    let terminal = try PseudoTerminal()
    let child = try terminal.coffer("vault get github -c", in: home)
    terminal.shows("There is no clipboard")
    #expect(try child.wait() == 1)
  }
}
