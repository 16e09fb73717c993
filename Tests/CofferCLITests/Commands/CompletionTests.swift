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

  /// The answer to the tab key behind the words of `line`, of which the last may be empty.
  private func offers(_ home: Home, _ line: String) throws -> [String] {
    let answer = try home.coffer("---complete fish \(line)")
    #expect(answer.err.isEmpty, "\(answer.err)")
    let lines = answer.out.split(separator: "\n").map { String($0.prefix { $0 != "\t" }) }
    #expect(lines.first == "words", "\(answer.out)")
    return Array(lines.dropFirst())
  }

  @Test
  func `services, accounts, domains and keys are offered where they can be known without a question`() throws {
    let home = try Home.withVault()
    try home.transcript("vault set github ada", in: "1")
    try home.transcript("vault set github bob", in: "1")
    try home.transcript("vault set gitlab eve", in: "1")
    try home.transcript("defaults write com.example.app theme dark")
    try home.transcript("set volume 3 --plain")
    try home.transcript("set token --domain coffer", in: "1")
    #expect(try offers(home, "vault get ''").sorted() == ["coffer", "github", "gitlab"])
    #expect(try offers(home, "vault get github ''") == ["ada", "bob"])
    #expect(try offers(home, "defaults read ''").sorted() == ["coffer", "com.example.app"])
    #expect(try offers(home, "defaults read com.example.app ''") == ["theme"])
    for verb in ["get", "show", "delete", "set", "rename", "copy"] {
      #expect(try offers(home, "\(verb) ''") == ["coffer", "github", "gitlab", "token", "volume"], "\(verb)")
      #expect(try offers(home, "\(verb) github/").contains("github/ada"), "\(verb)")
    }
    #expect(try offers(home, "get --domain com.example.app ''") == ["theme"])
    #expect(try offers(home, "edit ''") == ["coffer", "github", "gitlab"], "only an item is edited")
    #expect(try offers(home, "vault get github ada --field ''").contains("revision"))
    #expect(try offers(home, "run --env X=coffer://github/") == ["X=coffer://github/ada", "X=coffer://github/bob"])
    // A combining mark after the slash forms one character with it, but still ends the service.
    #expect(try offers(home, "run --env X=coffer://github/\u{301}") == ["X=coffer://github/ada", "X=coffer://github/bob"])
    #expect(try offers(home, "vault slot remove ''").map(\.count) == [32])
    try home.transcript("vault use -q team /tmp/team")
    #expect(try offers(home, "copy github --to-vault ''") == ["team"])
    home.locked()
    #expect(try offers(home, "vault get ''").isEmpty)
    #expect(try offers(home, "get ''") == ["volume"])
  }

  @Test
  func `the next word of a command, its options and their values are offered, each where it may stand`() throws {
    let home = try Home()
    #expect(try offers(home, "--quiet ''").contains("vault") && !offers(home, "''").contains { $0.hasPrefix("-") })
    #expect(try offers(home, "vault slot ''") == ["list", "add", "remove", "label"])
    #expect(try offers(home, "help ''").contains("unlocking") && offers(home, "help vault ''").contains("log"))
    // The verbs behind `vault` and the former names of commands are hidden.
    #expect(try !offers(home, "vault ''").contains { ["get", "set", "status", "init"].contains($0) })
    #expect(try !offers(home, "''").contains { ["auth", "credential", "env", "explain", "keys", "uninstall"].contains($0) })
    let options = try offers(home, "vault ls --sort name -")
    #expect(options.contains("--expiring") && options.contains("--key-file") && !options.contains("--sort"))
    // `--pass` is refused as a secret on the command line, but not while it is typed.
    #expect(try offers(home, "vault get --pass").contains("--passphrase-file"))
    #expect(try offers(home, "vault list --sort ''") == ["name", "modified", "expires"])
    #expect(try offers(home, "vault get a --clipboard ''").contains("osc52"))
    for line in ["--vault ''", "vault set a --vault ''", "vault mirror ''", "set a --file ''", "get a --key-file ''"] {
      #expect(try home.coffer("---complete zsh \(line)").out == "files\n", "\(line)")
    }
    // The line of another program begins at its first word.
    for (line, place) in [("run fis", 1), ("run -- fis", 2), ("run -e X=1 git che", 3), ("--home d exec -- git che", 4)] {
      #expect(try home.coffer("---complete zsh \(line)").out == "command \(place)\n", "\(line)")
    }
    #expect(try home.coffer("---complete zsh vault slot li").out.hasPrefix("words\nlist:List the slots.\n"))
  }

  @Test
  func `a slot is offered by its label where an agent has the vault open`() throws {
    let home = try Home.withVault()
    try home.transcript("vault slot add -q --label spare --new-key-file \(home.path)/spare")
    try home.transcript("unlock --quiet")
    defer { _ = try? home.coffer("agent stop") }
    #expect(try offers(home, "vault slot remove ''").contains("spare"))
  }

  @Test(arguments: [
    ("coffer get gith", "gith", "github", "github"), ("coffer get https://g", "//g", "https://g.example", "//g.example"),
    ("coffer get 'a s", "'a s", "a shop's", "a shop'\\''s"), ("coffer get \"a$", "\"a$", "a$(x)!`", "a\\$(x)\"'!'\"\\`"),
    ("coffer get a\\ s", "a\\ s", "a shop's", "a\\ shop\\'s"), ("coffer get ", "", "$(x)", "\\$\\(x\\)"),
  ])
  func `an answer for bash takes the place of the part of the word that bash completes, in its quotes`(
    line: String, part: String, name: String, answer: String
  ) { #expect(BashLine(line, from: part).spelled(name) == answer) }

  /// A home whose vault only the agent has open, with the program on PATH. One item's name is a trap for shells.
  private func unlockedHome() throws -> Home {
    let home = try Home.withVault()
    try home.withHelpers()
    for account in ["ada", "bob"] { try home.transcript("vault set github \(account)", in: "1") }
    try home.transcript("vault set https://git.example.com/x eve", in: "1")
    #expect(try home.coffer("vault set '\(Self.trap(home.path))' ''", in: Data("1".utf8)).status == 0)
    // Another program may give an item any name.
    let names = #"[{"service":"a shop's","value":"1"},{"service":"turn\u202eed","value":"1"}]"#
    #expect(try home.coffer("import -q --from json \(home.file("names.json", names))").status == 0)
    try home.transcript("set volume 3 --plain")
    try home.transcript("unlock --quiet")
    home.locked()
    return home
  }

  /// The typed line before the tab, its last word, and the command's last word afterwards.
  private static let lines: [(line: String, typed: String, completed: String)] = [
    ("coffer get", "gith", "github"), ("coffer get github", "b", "bob"), ("coffer vault", "ver", "verify"),
    ("coffer help", "unlocki", "unlocking"), ("coffer run", "mkfif", "mkfifo"), ("coffer run --", "mkfif", "mkfifo"),
    ("coffer get", "vol", "volume"), ("coffer get", "gith", "github"), ("coffer show", "github/b", "github/bob"),
    ("coffer get", "--no-ag", "--no-agent"),
    ("coffer get", "ht", "https://git.example.com/x"),
    ("coffer get", "https://g", "https://git.example.com/x"), ("coffer get https://git.example.com/x", "e", "eve"),
    ("coffer get", "github/b", "github/bob"), ("coffer get", "'gith", "github"),
    ("coffer get", "\"gith", "github"), ("coffer get", "a\\ s", "a shop's"),
    ("coffer get", "tur", "turn\\u{202e}ed"),
  ]
  /// The same for words that only bash is known to complete this way.
  private static let bashLines = [
    ("coffer get", "\"https://g", "https://git.example.com/x"),
    ("coffer get", "coffer://github/b", "coffer://github/bob"),
    ("coffer get", "'coffer://github/b", "coffer://github/bob"), ("coffer get", "\"a s", "a shop's"),
    ("coffer get", "'a s", "a shop's"), ("coffer get 'git'\"hub\"", "b", "bob"),
    ("coffer get", "\"tra", trap("/h")),
    ("coffer get https://git.example.com/x", "e", "eve"),
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
    terminal.type("coffer get trap\t\(toStart)printf '%s|' trap \n")
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
