import ArgumentParser
import CofferTestSupport
import FoundationEssentials
import Testing

@testable import CofferCLI
@testable import CofferTerminal

@Suite(.tags(.process), .defaultRun)
struct HelpTests {
  @Test
  func `the first screen says in three lines what this is, and groups the commands`() throws {
    let home = try Home()
    let answer = try home.coffer("--help")
    #expect(answer.status == 0)
    #expect(
      answer.out.hasPrefix(
        """
        OVERVIEW: Keeps secrets in an encrypted vault and preferences in plain files.
        set and get choose the store; vault and defaults name it.
        A secret is never an argument: it comes from input, a file or a prompt.

        """))
    for group in ["EVERYDAY", "VAULT", "PREFERENCES", "PROGRAMS"] { #expect(answer.out.contains("\(group) SUBCOMMANDS:")) }
    #expect(try home.coffer("help").out == answer.out)
  }

  @Test
  func `coffer alone is one screen of twenty lines, with five examples and the names of all commands`() throws {
    let answer = try Home().coffer("")
    #expect(answer.status == 0 && answer.err.isEmpty)
    let lines = answer.out.dropLast().components(separatedBy: "\n")
    #expect(lines.count <= 20 && lines.allSatisfy { $0.count <= 80 }, "\(answer.out)")
    #expect(lines.filter { $0.hasPrefix("  coffer ") }.count == 5)
    #expect(answer.out.contains("People use 'vault'; programs use 'set' and 'get'"))
    let words = Set(answer.out.split { " \n".contains($0) }.map(String.init))
    for type in CofferCommand.configuration.subcommands where type.configuration.shouldDisplay {
      #expect(words.contains(type.configuration.commandName ?? ""), "\(type)")
    }
  }

  @Test(arguments: [
    "tour", "recover", "login", "logout", "auth", "auth login", "auth logout", "auth status", "auth token", "auth switch", "init",
    "status", "set", "get", "delete", "list", "explain", "keys", "watch", "env", "vault", "vault init", "vault set",
    "vault get", "vault otp", "vault audit",
    "vault show", "vault list", "vault find", "vault delete", "vault verify", "vault status", "vault join", "vault slot",
    "vault slot list", "vault slot add", "vault slot remove", "vault slot label", "vault passphrase", "vault rotate",
    "vault identity", "vault identity new", "vault identity show", "defaults", "defaults read",
    "defaults write", "defaults delete", "defaults domains", "defaults read-type", "defaults rename",
    "run", "inject", "generate", "doctor", "install", "uninstall", "version", "agent", "completion", "credential",
    "credential git", "credential docker", "credential aws", "credential kubectl", "credential askpass", "credential cargo",
    "credential keyring",
    "vault rename", "vault copy", "vault edit", "vault history", "vault revert", "vault undelete", "vault deleted", "vault prune",
    "vault import", "vault export", "vault merge", "vault mirror", "defaults find", "defaults export",
    "defaults import", "defaults explain", "defaults watch",
  ])
  func `every command has help`(command: String) throws {
    let page = try HelpPage(Self.definition(of: command), for: Display(isTerminal: false)).text()
    #expect(page.contains("USAGE: coffer \(command)"))
  }

  private static func definition(of command: String) throws -> CommandDefinition {
    let path = command.split(separator: " ").map(String.init)
    return try CommandDefinition(
      path,
      path.reduce(CofferCommand.self as any ParsableCommand.Type) { family, name in
        family.configuration.subcommands.first { $0.answers(to: name) } ?? family
      })
  }

  @Test(arguments: ["vault set", "vault", "run"])
  func `help is on standard output, asked for by a word or an option`(command: String) throws {
    let home = try Home()
    let answer = try home.coffer("\(command) --help")
    #expect(answer.status == 0 && answer.err.isEmpty && answer.out.contains("USAGE: coffer \(command)"))
    #expect(try home.coffer("help \(command)").out == answer.out)
  }

  @Test
  func `what is no command is said to be none, with the way to help`() throws {
    let home = try Home()
    try home.transcript(
      "frobnicate", err: "coffer: there is no command of the name 'frobnicate'\n  try: coffer --help\n", exit: 64)
    try home.transcript("help frobnicate", err: "there is no command or topic of the name 'frobnicate'", exit: 64)
    try home.transcript("help histroy", err: "try: coffer help history? coffer --help lists them all", exit: 64)
    try home.transcript("help find", err: "try: coffer help vault find?", exit: 64)
  }

  @Test(arguments: [
    ("statsu", "the name 'statsu'\n  try: coffer status? coffer --help lists all commands\n"),
    ("vualt get x", "the name 'vualt'\n  try: coffer vault? coffer --help lists all commands\n"),
    (
      "vault gett x", "coffer vault has no command of the name 'gett'\n  try: coffer vault get? coffer vault --help lists"
    ),
    ("vault slot remvoe", "coffer vault slot has no command of the name 'remvoe'\n  try: coffer vault slot remove?"),
    ("rotate", "the name 'rotate'\n  try: coffer vault rotate? coffer --help lists all commands\n"),
    ("vault log --limit abc", "--limit does not take 'abc'\n  try: a whole number; coffer vault log --help\n"),
    ("vault log --limit -1", "--limit does not take '-1'\n  try: a whole number; coffer vault log --help\n"),
    ("unlock --idle 5", "--idle does not take '5'\n  try: a time: 90s, 15m, 2h or 1d; coffer unlock --help\n"),
    ("vault get a --min-generation x", "--min-generation does not take 'x'\n"),
    ("vault set a --fd hunter2", "--fd does not take the value that was given (not repeated here)\n  try: a whole number"),
    ("vault set a --type nonsense", "'nonsense' is no media type\n  try: --type text/plain"),
    ("vault hunter2", "coffer vault has no such command (not repeated here)\n  try: coffer vault --help\n"),
  ])
  func `a mistyped command is met with the one that was meant, and a word that may be a secret is not repeated`(
    line: String, error: String
  ) throws { try Home().transcript(line, err: error, exit: 64) }

  @Test
  func `options that open the vault are one line of a page, and a topic`() throws {
    let home = try Home()
    let page = try home.coffer("vault list --help").out
    #expect(page.contains("UNLOCKING: see 'coffer help unlocking'") && !page.contains("--key-file"))
    let topic = try home.coffer("help unlocking").out
    for option in try HelpTopic.unlocking { #expect(topic.contains(option.label), "\(option.label)") }
  }

  @Test
  func `an option that does nothing in a command is not in its help, and taken all the same`() throws {
    let home = try Home()
    #expect(try !home.coffer("env --help").out.contains("--yes"))
    #expect(try home.coffer("defaults delete --help").out.contains("--yes"))
    #expect(try !home.coffer("generate --help").out.contains("--home"))
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
    for command in ["vault set", "vault", "agent", ""] {
      let page = try HelpPage(Self.definition(of: command), for: display).text()
      // Examples are for copying, and a word is not broken.
      let lines = page.components(separatedBy: "\n").filter { line in
        !line.hasPrefix("  coffer ") && line.drop { $0 == " " }.contains(" ")
      }
      #expect(lines.allSatisfy { $0.count <= min(width, 100) }, "\(lines.filter { $0.count > width })")
    }
  }

  @Test
  func `a page in a pipe depends on no variable and has no colors, and a terminal's titles are bold`() throws {
    let home = try Home()
    let page = try home.coffer("vault set --help").out
    #expect(try home.coffer("vault set --help", with: ["COLUMNS": "40", "CLICOLOR_FORCE": "1"]).out == page)
    #expect(!page.contains("\u{1B}"))
    let type = VersionCommand.self
    let bold = try HelpPage(CommandDefinition(["version"], type), for: Display(isTerminal: true, isColored: true)).text()
    #expect(bold.contains("\u{1B}[1mUSAGE:\u{1B}[0m coffer version") && bold.contains("\u{1B}[1mEXAMPLES:\u{1B}[0m\n"))
  }

  @Test
  func `whatever asks a person takes --yes, and says so`() throws {
    for command in [
      "vault delete", "vault prune", "vault rotate", "vault slot remove", "vault import", "vault export", "vault merge",
      "vault join", "doctor",
      "defaults delete",
    ] {
      let page = try HelpPage(Self.definition(of: command), for: Display(isTerminal: false)).text()
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
