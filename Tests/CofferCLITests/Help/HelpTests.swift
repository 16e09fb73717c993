import ArgumentParser
import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI
@testable import CofferTerminal

@Suite(.tags(.process), .defaultRun)
struct HelpTests {
  @Test
  func `coffer alone is one screen: its purpose in three lines, five examples and the names of all commands and topics`() throws {
    let home = try Home()
    let answer = try home.coffer("")
    #expect(answer.status == 0 && answer.err.isEmpty)
    #expect(answer.out.hasPrefix(CofferCommand.configuration.abstract + "\n\nExamples:\n  coffer "))
    let lines = answer.out.dropLast().components(separatedBy: "\n")
    #expect(lines.count < 24 && lines.allSatisfy { $0.count <= 80 }, "\(answer.out)")
    #expect(lines.filter { $0.hasPrefix("  coffer ") }.count == 5)
    let words = Set(answer.out.split { " \n".contains($0) }.map(String.init))
    for type in CofferCommand.configuration.subcommands where type.configuration.shouldDisplay {
      #expect(words.contains(type.configuration.commandName ?? ""), "\(type)")
    }
    for topic in HelpTopic.all { #expect(words.contains(topic.name), "\(topic.name)") }
    #expect(try home.coffer("help").out == answer.out && home.coffer("--help").out == answer.out)
    let whole = try home.coffer("--help --all").out
    for group in CofferCommand.configuration.groupedSubcommands { #expect(whole.contains("\n\(group.name):\n  ")) }
  }

  @Test
  func `the help of each family fits a screen of 24 lines`() throws {
    func walk(_ type: any ParsableCommand.Type, _ names: [String]) throws {
      guard !type.configuration.subcommands.isEmpty else { return }
      let page = try HelpPage(command: CommandDefinition(names, type), isWhole: false).text(for: Display(isTerminal: false))
      #expect(page.components(separatedBy: "\n").count < 24, "\(page)")
      for next in type.configuration.subcommands where next.configuration.shouldDisplay {
        try walk(next, names + [next.configuration.commandName ?? ""])
      }
    }
    try walk(CofferCommand.self, [])
  }

  @Test
  func `a page has its usage in a line, examples, and at most twelve options of its own; the rest is asked for`() throws {
    let home = try Home()
    let page = try home.coffer("set --help").out
    #expect(page.hasPrefix("Usage: coffer set [NAME] [VALUE …] [options]\n\n"))
    let examples = try #require(page.range(of: "\nExamples:\n")), options = try #require(page.range(of: "\nOptions:\n"))
    #expect(examples.lowerBound < options.lowerBound)
    #expect(page[options.upperBound...].matches(of: /(?m)^  -/).count == 12)
    // The options of its examples are among them, wherever they are declared.
    for word in ["--generate", "--length N", "--expires WHEN", "--file PATH", "--domain DOMAIN"] {
      #expect(page.contains("  \(word)"))
    }
    #expect(page.hasSuffix("\nMore: coffer set --help --all\n") && !page.contains("--home"))
    let whole = try home.coffer("set --help --all").out
    for word in ["--no-look-alikes", "--home DIR", "add, insert, store"] { #expect(whole.contains(word), "\(whole)") }
    for line in ["help set --all", "vault set --help --all", "help vault set --all"] {
      #expect(try home.coffer(line).out == whole, "coffer \(line)")
    }
  }

  @Test(arguments: [
    "tour", "init", "unlock", "lock", "status", "doctor", "recover", "set", "get", "show", "edit", "delete", "rename",
    "copy", "list", "find", "otp", "history", "revert", "undelete", "generate", "import", "export", "backup", "restore",
    "merge", "run", "inject", "watch", "login", "logout", "token", "vault", "vault log", "vault verify", "vault repair",
    "vault audit", "vault prune", "vault mirror", "vault use", "vault passphrase", "vault rotate", "vault slot",
    "vault slot list", "vault slot add", "vault slot remove", "vault slot label", "vault pin", "vault pin show",
    "vault pin accept", "vault invite", "vault join", "vault identity", "defaults", "defaults read", "defaults read-type",
    "defaults write", "defaults delete", "defaults rename", "defaults domains", "defaults find", "defaults export",
    "defaults import", "helper", "helper git", "helper docker", "helper aws", "helper kubectl", "helper askpass",
    "helper cargo", "helper keyring", "helper age", "ssh", "ssh new", "ssh add", "ssh list", "ssh edit", "ssh allow", "ssh run",
    "ssh install", "secret-service", "secret-service run", "secret-service install", "secret-service status",
    "secret-service share", "agent", "agent run", "agent install", "agent stop", "provider",
    "provider add", "provider list", "provider remove", "install", "completion", "version",
  ])
  func `every command has help`(command: String) throws {
    let page = try HelpPage(command: Self.definition(of: command), isWhole: false).text(for: Display(isTerminal: false))
    #expect(page.hasPrefix("Usage: coffer \(command)"))
  }

  private static func definition(of command: String) throws -> CommandDefinition {
    let path = command.split(separator: " ").map(String.init)
    return try CommandDefinition(
      path,
      path.reduce(CofferCommand.self as any ParsableCommand.Type) { family, name in
        try #require(family.configuration.subcommands.first { $0.answers(to: name) }, "coffer \(command)")
      })
  }

  @Test(arguments: ["set", "vault", "vault slot add", "run"])
  func `help is on standard output, asked for by a word or an option`(command: String) throws {
    let home = try Home()
    let answer = try home.coffer("\(command) --help")
    #expect(answer.status == 0 && answer.err.isEmpty && answer.out.contains("Usage: coffer \(command)"))
    #expect(try home.coffer("help \(command)").out == answer.out)
  }

  @Test
  func `what is no command is said to be none, with the way to help`() throws {
    let home = try Home()
    try home.transcript(
      "frobnicate", err: "coffer: there is no command 'frobnicate'\n  try: coffer --help\n", exit: 64)
    try home.transcript("help frobnicate", err: "there is no command or topic 'frobnicate'", exit: 64)
    try home.transcript("help histroy", err: "try: did you mean coffer help history? coffer --help lists them all", exit: 64)
    try home.transcript("help rotate", err: "try: did you mean coffer help vault rotate?", exit: 64)
    try home.transcript("help place", err: "try: did you mean coffer help environment?", exit: 64)
    try home.transcript("offline", err: "try: did you mean coffer help offline? coffer --help lists all commands", exit: 64)
    let page = try home.coffer("get --help").out
    for line in ["help get", "vault get --help", "help vault get", "vault help get"] {
      try home.transcript(line, out: page)
    }
  }

  @Test(arguments: [
    ("statsu", "there is no command 'statsu'\n  try: did you mean coffer status? coffer --help lists all commands\n"),
    ("vualt get x", "there is no command 'vualt'\n  try: did you mean coffer vault? coffer --help lists all commands\n"),
    ("vault gett x", "no command 'coffer vault gett'\n  try: did you mean coffer vault get? coffer vault --help lists"),
    ("vault slot remvoe", "no command 'coffer vault slot remvoe'\n  try: did you mean coffer vault slot remove?"),
    ("vault generate", "no command 'coffer vault generate'\n  try: did you mean coffer generate? coffer vault --help lists"),
    ("rotate", "there is no command 'rotate'\n  try: did you mean coffer vault rotate? coffer --help lists all commands\n"),
    ("vault log --limit abc", "--limit does not take 'abc'\n  try: a whole number, 0 or more; coffer vault log --help\n"),
    ("vault log --limit -1", "--limit does not take '-1'\n  try: a whole number, 0 or more; coffer vault log --help\n"),
    ("unlock --idle 5", "--idle does not take '5'\n  try: a time: 90s, 15m, 2h or 1d; coffer unlock --help\n"),
    ("vault get a --min-generation x", "--min-generation does not take 'x'\n"),
    ("vault set a --fd hunter2", "--fd does not take this value (not repeated here)\n  try: a whole number"),
    ("vault set a --type nonsense", "--type takes bool, int, float, string, date, data or json, or a media type such as"),
    ("vault hunter2", "there is no such command in 'coffer vault'\n  try: coffer vault --help\n"),
  ])
  func `a mistyped command is met with the one that was meant, and a word that may be a secret is not repeated`(
    line: String, error: String
  ) throws { try Home().transcript(line, err: error, exit: 64) }

  @Test
  func `options that open the vault are one line of a page, and a topic`() throws {
    let home = try Home()
    let page = try home.coffer("list --help --all").out
    #expect(page.contains("'coffer help unlocking' lists the options") && !page.contains("--key-file"))
    let topic = try home.coffer("help unlocking").out
    for option in try HelpTopic.unlocking { #expect(topic.contains(option.label), "\(option.label)") }
  }

  @Test
  func `an option that does nothing in a command is not in its help, and taken all the same`() throws {
    let home = try Home()
    #expect(try !home.coffer("status --help --all").out.contains("--yes"))
    #expect(try home.coffer("defaults delete --help --all").out.contains("--yes"))
    #expect(try !home.coffer("generate --help --all").out.contains("--home"))
    #expect(try home.coffer("generate --yes --home \(home.path)").status == 0)
  }

  @Test
  func `a default stands in brackets`() throws {
    let page = try Home().coffer("unlock --help").out
    #expect(page.contains("[default: 15m]") && page.contains("[default: 8h]"))
  }

  @Test(arguments: [30, 80, 200])
  func `a page is no wider than the terminal, nor than a line that is easy to read`(width: Int) throws {
    let display = Display(isTerminal: true, width: width)
    for command in ["set", "vault", "agent", ""] {
      let page = try HelpPage(command: Self.definition(of: command), isWhole: true).text(for: display)
      // Examples are for copying, and a word is not broken.
      let examples = Example.of(command).map(\.line)
      let lines = page.components(separatedBy: "\n").filter { line in
        !examples.contains { line.hasPrefix("  \($0)") } && line.drop { $0 == " " }.contains(" ")
      }
      #expect(lines.allSatisfy { $0.count <= min(width, 100) }, "\(lines.filter { $0.count > width })")
    }
  }

  @Test
  func `a page in a pipe depends on no variable and has no colors, and a terminal's titles are bold`() throws {
    let home = try Home()
    let page = try home.coffer("set --help").out
    #expect(try home.coffer("set --help", with: ["COLUMNS": "40", "CLICOLOR_FORCE": "1"]).out == page)
    #expect(!page.contains("\u{1B}"))
    let type = VersionCommand.self
    let bold = try HelpPage(command: CommandDefinition(["version"], type), isWhole: false)
      .text(for: Display(isTerminal: true, isColored: true))
    #expect(bold.contains("\u{1B}[1mUsage:\u{1B}[0m coffer version") && bold.contains("\u{1B}[1mExamples:\u{1B}[0m\n"))
  }

  @Test
  func `whatever asks a person takes --yes, and says so`() throws {
    for command in [
      "set", "delete", "rename", "vault prune", "vault rotate", "vault slot remove", "import", "export", "merge", "restore",
      "vault join", "doctor", "defaults delete",
    ] {
      let page = try HelpPage(command: Self.definition(of: command), isWhole: true).text(for: Display(isTerminal: false))
      #expect(page.contains("  --yes  "), "\(command)")
    }
  }

  @Test
  func `coffer version names what a report of a bug needs`() throws {
    let home = try Home()
    let answer = try home.coffer("version")
    for word in ["coffer        0.1.0\n", "commit ", "vault format  1\n", "libsodium     1.", "SQLite        3."] {
      #expect(answer.out.contains(word), "\(answer.out)")
    }
    #expect(try home.coffer("-V").out == answer.out)
  }

  @Test
  func `coffer --version`() throws { try Home().transcript("--version", out: "coffer 0.1.0\n") }
}
