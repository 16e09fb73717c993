internal import ArgumentParser
internal import CofferPlatform
internal import CofferTerminal

struct RunCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "run",
    abstract: "Start a command with secrets in its environment, on descriptors, or as files in memory.",
    usage: "coffer run [options] [--] COMMAND [WORDS …]",
    discussion: """
      A reference is coffer://service/account, with /attribute after it for something else than the value; each part is \
      percent-encoded. A variable of this environment whose whole value is a reference is resolved as well. All references are \
      read before the command starts: if one is missing, expired or locked, nothing starts. The command takes this process's \
      place, so its signals and its exit status are its own; with --mask it is a child, and both are passed through. What \
      unlocks the vault is not passed on. Exit statuses of our own are those of env(1): 125 where nothing was started, 126 and \
      127 where the command cannot be executed or is not there.
      """, aliases: ["exec"])

  @Option(
    name: [.long, .customShort("e")],
    help: ArgumentHelp("A variable with what a reference names; may be repeated.", valueName: "name=reference"),
    completion: Completions.namedReferences)
  var env: [String] = []
  @Option(
    help: ArgumentHelp(
      "A file of NAME=value lines: values that are references are resolved, others passed on; - is standard input.",
      valueName: "path"))
  var envFile: [String] = []
  @Option(
    help: ArgumentHelp("An open descriptor, 3 or more, that the command reads the value from.", valueName: "n=reference"))
  var fd: [String] = []
  @Option(
    help: ArgumentHelp("A variable with the path of a file in memory that holds the value.", valueName: "name=reference"),
    completion: Completions.namedReferences)
  var file: [String] = []
  @Option(
    help: ArgumentHelp(
      "A host or URL whose user and token stand in a netrc in memory, whose path is in NETRC; may be repeated.", valueName: "host"
    ),
    completion: Completions.hosts)
  var netrc: [String] = []
  @Flag(help: "Replace the secrets of references and --netrc in what the command prints.") var mask = false
  @Argument(parsing: .postTerminator, help: "The command and its words; -- before them may be left out.") var command: [String] =
    []
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  static var startsPrograms: Bool { true }

  /// The options that take the next word, unless they contain a `=`.
  private static let valued: Set = [
    "--env", "-e", "--env-file", "--fd", "--file", "--netrc", "--passphrase-fd", "--passphrase-file", "--key-file",
    "--recovery-file",
    "--identity", "--invitation", "--min-generation", "--home", "--vault",
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
      context.note("a secret of fewer than \(OutputMask.shortest) bytes is not masked: it stands in most output by chance")
    }
    try MaskedCommand(MaskAutomaton(secrets)).run(launch).leave()
  }
}
