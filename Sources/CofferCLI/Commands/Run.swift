internal import ArgumentParser
internal import CofferPlatform
internal import CofferTerminal

struct RunCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "run",
    abstract: "Run a command with secrets in variables, descriptors or memory files.",
    usage: "coffer run [options] [--] COMMAND [WORDS …]",
    discussion: """
      A reference is coffer://service/account, with /attribute at its end for a part other than the value; each part is \
      percent-encoded. A variable of this environment that is a reference is resolved too. All references are read before the \
      command starts: if one is missing, expired or locked, nothing starts. The command replaces this process, so its signals \
      and its exit status are its own; with --mask it is a child, and both are passed through. Secrets that unlock the vault are \
      not passed on. Coffer's own exit statuses are those of env(1): 125 if nothing was started, 126 if the command cannot be \
      executed, 127 if it is not found.
      """, aliases: ["exec"])

  @Option(
    name: [.long, .customShort("e")],
    help: ArgumentHelp("Set a variable to a reference's value; may be repeated.", valueName: "name=reference"),
    completion: Completions.namedReferences)
  var env: [String] = []
  @Option(
    help: ArgumentHelp(
      "A file of NAME=value lines, whose references are resolved; - is standard input.",
      valueName: "path"))
  var envFile: [String] = []
  @Option(help: ArgumentHelp("A descriptor, 3 or more, from which the command reads the value.", valueName: "n=reference"))
  var fd: [String] = []
  @Option(
    help: ArgumentHelp("Set a variable to the path of a memory file with the value.", valueName: "name=reference"),
    completion: Completions.namedReferences)
  var file: [String] = []
  @Option(
    help: ArgumentHelp(
      "Put the user and token of a host or URL in a netrc in memory, named by NETRC; may be repeated.", valueName: "host"
    ),
    completion: Completions.hosts)
  var netrc: [String] = []
  @Flag(help: "Mask the secrets of references and --netrc in the command's output.") var mask = false
  @Argument(parsing: .postTerminator, help: "The command and its words; -- before them is optional.") var command: [String] =
    []
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  var startsPrograms: Bool { true }

  /// They take the next word unless they contain a `=`.
  private static let valued: Set = [
    "--env", "-e", "--env-file", "--fd", "--file", "--netrc", "--passphrase-fd", "--passphrase-file", "--key-file",
    "--recovery-file", "--identity", "--invitation", "--min-generation", "--home", "--vault",
  ]

  /// The words of a line, with `--` before the command to start, if it was omitted.
  static func separated(_ words: [String], from start: Int) -> [String] {
    var at = start
    while at < words.count, words[at].hasPrefix("-"), words[at] != "-" {
      if words[at] == "--" { return words }
      at += valued.contains(words[at]) ? 2 : 1
    }
    return at < words.count ? words[..<at] + ["--"] + words[at...] : words
  }

  func claimInput(_ context: Context) throws {
    guard !command.isEmpty else {
      throw Failure.usage("there is no command", try: "coffer run --env NAME=coffer://… -- COMMAND WORDS")
    }
    if envFile.contains("-") { try context.input.claim(for: "the environment file") }
  }

  func perform(_ context: Context) throws {
    let plan = try RunPlan(env: env, files: file, descriptors: fd, envFiles: envFile, netrc: !netrc.isEmpty, context)
    let values = try References(plan.references, context)
    let machines = try netrc.isEmpty ? nil : Netrc(netrc, in: context.itemsToRead())
    for descriptor in CredentialSources(context).descriptors { try Hardening.withhold(descriptor) }
    // The parser has repaired words that are not UTF-8.
    let launch = try plan.launch(CommandWords.last(command.count), values, machines)
    guard mask else { try launch.replaceProcess() }
    let secrets = try OutputMask.secrets(of: plan.references.map { values[$0] } + (machines?.secrets ?? [])) {
      context.note("secrets shorter than \(OutputMask.shortest) bytes are not masked: they occur in most output by chance")
    }
    try MaskedCommand(MaskAutomaton(secrets)).run(launch).leave()
  }
}
