import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI

@Suite(.tags(.process), .wholeRun)
struct TerminalTests {
  @Test
  func `control-Z under run --mask stops the command too, and fg goes on with both`() throws {
    let home = try Home.withVault()
    try home.withHelpers()
    try home.transcript("vault set github ada", in: "hunter2")
    let script = try home.file(
      "wait", "echo $$ > \(home.path)/process\necho up and waiting\nread word\necho \"got $word and $TOKEN\"\n")
    let terminal = try PseudoTerminal()
    guard
      let shell = try terminal.program(["bash", "--norc", "--noprofile", "-i"], in: home, with: ["TERM": "dumb", "PS1": "> "])
    else { try Test.skip(without: "bash") }
    terminal.type("coffer run --mask -e TOKEN=coffer://github -- sh \(script)\n")
    terminal.shows("up and waiting")
    terminal.type("\u{1A}")
    terminal.shows("Stopped")
    let command = try pid_t(#require(pid_t(home.content("process").trimmingCharacters(in: .newlines))))
    let deadline = Date() + 60
    while try Self.state(command) != "T", Date() < deadline { usleep(5_000) }
    #expect(try Self.state(command) == "T", "the command is stopped, too")
    terminal.type("fg\n")
    terminal.type("hello\n")
    terminal.shows("got hello and <masked>")
    terminal.type("echo status-$?-of-it\n")
    terminal.shows("status-0-of-it")
    terminal.type("exit\n")
    #expect(try shell.wait() == 0)
    #expect(!terminal.shown.contains("hunter2"))
  }

  /// The state of a process from proc(5): R, S, T …
  private static func state(_ process: pid_t) throws -> String {
    let line = try String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
    return line.split(separator: ") ").last?.first.map(String.init) ?? ""
  }

  @Test(arguments: [
    ("import --from json items.json --yes", false), ("import --from env --service app items.env --yes", false),
    ("import --from json items.json --yes --on-duplicate replace", true), ("vault verify", true),
    ("vault rotate --yes", true),
    ("restore --yes copy", true), ("backup another", true),
  ])
  func `long work counts on a terminal, and neither elsewhere nor for programs nor when it shall be quiet`(
    line: String, isFilled: Bool
  ) throws {
    func home() throws -> (home: Home, words: String) {
      let home = try Home.withVault()
      let items = (0..<300).map { #"{"service":"s","account":"a\#($0)","value":"v"}"# }.joined(separator: ",\n")
      _ = try home.file("items.json", "[\(items)]")
      _ = try home.file("items.env", (0..<300).map { "N\($0)=v\n" }.joined())
      let old = Data("[\(items.replacing(#""v""#, with: #""old""#))]".utf8)
      if isFilled { #expect(try home.coffer("import -q --from json -", in: old).status == 0) }
      try home.transcript("backup -q \(home.path)/copy")
      let words = line.split(separator: " ").map {
        $0.hasPrefix("items.") || ["copy", "another"].contains($0) ? "\(home.path)/\($0)" : String($0)
      }
      return (home, words.joined(separator: " "))
    }
    for (option, isShown) in [("", true), (" --quiet", false), (" --json", false)] {
      let (home, words) = try home()
      home.environment["TERM"] = "xterm"
      let terminal = try PseudoTerminal()
      let child = try terminal.coffer(words + option, in: home)
      terminal.showsAll()
      #expect(try child.wait() == 0)
      #expect(
        terminal.shown.contains(/[0-9]+ %  [0-9]+ of [0-9]+ (items|pages)/) == isShown, "\(option): \(terminal.shown.suffix(300))"
      )
    }
    let (home, words) = try home()
    let answer = try home.coffer(words)
    #expect(answer.status == 0 && !answer.err.contains("%") && !answer.out.contains("%"))
  }
}
