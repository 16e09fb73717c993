import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI

@Suite(.tags(.process), .wholeRun)
struct CompletionTests {
  @Test(arguments: ["bash", "zsh", "fish"])
  func `each shell accepts its script`(shell: String) throws {
    let home = try Home()
    let script = try home.coffer("completion \(shell)")
    #expect(script.status == 0 && script.out.contains("coffer") && script.err.isEmpty)
    let file = try home.file("script", script.out)
    guard let checked = try home.program([shell, "-n", file]) else { try Test.skip(without: shell) }
    #expect(checked.status == 0, "\(checked.err)")
  }

  /// The scripts' request: the words of the line and, in some shells, the cursor's place.
  private func offers(_ home: Home, _ line: String, _ argument: String) throws -> [String] {
    let command = line.split(separator: " ").dropFirst().prefix { !$0.hasPrefix("-") }
    let path = command.filter { word in ["vault", "get", "defaults", "read", "set", "show"].contains(String(word)) }.joined(
      separator: " ")
    let answer = try home.coffer("---completion \(path) -- \(argument) 0 0 \(line)")
    #expect(answer.err.isEmpty, "\(answer.err)")
    return answer.out.split(separator: "\n").map(String.init)
  }

  @Test
  func `services, accounts, domains and keys are offered where they can be known without a question`() throws {
    let home = try Home.withVault()
    try home.transcript("vault set github ada", in: "1")
    try home.transcript("vault set github bob", in: "1")
    try home.transcript("vault set gitlab eve", in: "1")
    try home.transcript("defaults write com.example.app theme dark")
    try home.transcript("set volume 3 --plain")
    try home.transcript("set token --secret", in: "1")
    #expect(try offers(home, "coffer vault get", "positional@0").sorted() == ["coffer", "github", "gitlab"])
    #expect(try offers(home, "coffer vault get github", "positional@1") == ["ada", "bob"])
    #expect(try offers(home, "coffer defaults read", "positional@0").sorted() == ["coffer", "com.example.app"])
    #expect(try offers(home, "coffer defaults read com.example.app", "positional@1") == ["theme"])
    #expect(try offers(home, "coffer get", "positional@0").sorted() == ["token", "volume"])
    #expect(try offers(home, "coffer vault get github ada", "--field").contains("revision"))
    #expect(
      try home.coffer("---completion run -- --env 3 18 coffer run --env X=coffer://github/").out
        == "X=coffer://github/ada\nX=coffer://github/bob\n")
    // A combining mark after the slash forms one character with it, but still ends the service.
    #expect(
      try home.coffer("---completion run -- --env 3 19 coffer run --env X=coffer://github/\u{301}").out
        == "X=coffer://github/ada\nX=coffer://github/bob\n")
    #expect(try home.coffer("---completion vault slot remove -- positional@0 0 0 coffer vault slot remove").out.count == 33)
    home.locked()
    #expect(try offers(home, "coffer vault get", "positional@0").isEmpty)
    #expect(try offers(home, "coffer get", "positional@0") == ["volume"])
  }

  /// A home whose vault only the agent has open, with the program on PATH. One item's name is a trap for shells.
  private func unlockedHome() throws -> Home {
    let home = try Home.withVault()
    try home.withHelpers()
    for account in ["ada", "bob"] { try home.transcript("vault set github \(account)", in: "1") }
    try home.transcript("vault set https://git.example.com/x eve", in: "1")
    #expect(try home.coffer("vault set '\(Self.trap(home.path))'", in: Data("1".utf8)).status == 0)
    // Another program may give an item any name.
    let names = #"[{"service":"a shop's","value":"1"},{"service":"turn\u202eed","value":"1"}]"#
    #expect(try home.coffer("vault import -q --from json \(home.file("names.json", names))").status == 0)
    try home.transcript("set volume 3 --plain")
    try home.transcript("unlock --quiet")
    home.locked()
    return home
  }

  /// The typed line before the tab, its last word, and the command's last word afterwards.
  private static let lines: [(line: String, typed: String, completed: String)] = [
    ("coffer vault get", "gith", "github"), ("coffer vault get github", "b", "bob"), ("coffer vault", "ver", "verify"),
    ("coffer get", "vol", "volume"), ("coffer vault get", "--no-ag", "--no-agent"),
    ("coffer vault get", "ht", "https://git.example.com/x"),
    ("coffer vault get", "https://g", "https://git.example.com/x"), ("coffer vault get https://git.example.com/x", "e", "eve"),
    ("coffer vault get", "github/b", "github/bob"), ("coffer vault get", "'gith", "github"),
    ("coffer vault get", "\"gith", "github"), ("coffer vault get", "a\\ s", "a shop's"),
    ("coffer vault get", "tur", "turn\\u{202e}ed"),
  ]
  /// The same for words that only bash is known to complete this way.
  private static let bashLines = [
    ("coffer vault get", "\"https://g", "https://git.example.com/x"),
    ("coffer vault get", "coffer://github/b", "coffer://github/bob"),
    ("coffer vault get", "'coffer://github/b", "coffer://github/bob"), ("coffer vault get", "\"a s", "a shop's"),
    ("coffer vault get", "'a s", "a shop's"), ("coffer vault get 'git'\"hub\"", "b", "bob"),
    ("coffer vault get", "\"tra", trap("/h")),
    ("coffer vault get https://git.example.com/x", "e", "eve"),
    ("coffer run --env", "X=coffer://github/b", "X=coffer://github/bob"),
  ]

  /// An item name that a shell would partly execute without quotes.
  private static func trap(_ home: String) -> String { "trap$(touch${IFS}\(home)/sprung)`touch \(home)/sprung`!!" }

  /// Types each line and a tab at an interactive shell, then prefixes the line with a command that prints its words.
  private func complete(_ home: Home, _ shell: [String], _ setUp: String, isBash: Bool = false) throws {
    let terminal = try PseudoTerminal()
    guard let child = try terminal.program(shell, in: home, with: ["TERM": "dumb", "PS1": "> ", "HISTFILE": "/dev/null"]) else {
      try Test.skip(without: shell[0])
    }
    terminal.type("\(setUp); echo rea''-dy\n")
    terminal.shows("rea-dy")
    let toStart = "\u{1}"
    for (index, line) in (Self.lines + (isBash ? Self.bashLines : [])).enumerated() {
      terminal.type("\(line.line) \(line.typed)\t\(toStart)printf '%s|' line-\(index) \n")
      let words = line.line.filter { !"'\"".contains($0) }.split(separator: " ").map(String.init)
      let completed = line.completed.replacing("/h/", with: home.path + "/")
      terminal.shows("line-\(index)|" + (words + [completed]).joined(separator: "|") + "|")
    }
    terminal.type("coffer vault get trap\t\(toStart)printf '%s|' trap \n")
    // The shell reads on after the name: no key here makes the terminal drop later input.
    terminal.type("echo al''l-done\n")
    terminal.shows("all-done")
    kill(child.id, SIGKILL)
    #expect(try child.wait() == 128 + SIGKILL)
    #expect(!home.exists("sprung"), "a name ran as a command")
  }

  @Test
  func `bash completes at the tab key what the agent has open, and runs no name of an item`() throws {
    let home = try unlockedHome()
    defer { _ = try? home.coffer("agent stop") }
    let script = try home.file("coffer.bash", home.coffer("completion bash").out)
    try complete(home, ["bash", "--norc", "--noprofile", "-i"], "source \(script)", isBash: true)
  }

  @Test
  func `zsh does`() throws {
    let home = try unlockedHome()
    defer { _ = try? home.coffer("agent stop") }
    _ = try home.file("functions/_coffer", home.coffer("completion zsh").out)
    try complete(
      home, ["zsh", "-f", "-i"],
      "bindkey -e; fpath=(\(home.path)/functions $fpath); autoload -U compinit; compinit -u -D")
  }

  @Test
  func `fish does`() throws {
    let home = try unlockedHome()
    defer { _ = try? home.coffer("agent stop") }
    let script = try home.file("coffer.fish", home.coffer("completion fish").out)
    try complete(home, ["fish", "--no-config", "-i"], "source \(script)")
  }
}
