internal import ArgumentParser
internal import CofferPlatform

/// The words that this process was started with, byte for byte. `CommandLine.arguments` puts U+FFFD in the place of what is not UTF-8,
/// so that two different words may look the same.
enum CommandWords {
  /// All of them, the program's name first; none where the system does not tell.
  static var all: [ByteWord] {
    let given = Int(coffer_argument_count())
    if given > 0, let words = coffer_arguments() { return (0..<given).compactMap { index in words[index].map { ByteWord($0) } } }
    return (0..<Int(CommandLine.argc)).compactMap { index in CommandLine.unsafeArgv[index].map { ByteWord($0) } }
  }

  /// The last `count` of them.
  static func last(_ count: Int) -> [ByteWord] { all.suffix(count) }

  /// Refuses words that are not UTF-8, but for those of a command to be run, which gets them as they are.
  static func refuseUnreadable(_ arguments: [String]) throws(Failure) {
    guard let unreadable = all.dropFirst().firstIndex(where: { !$0.isText }) else { return }
    let isRun = LeadingOptions.line(arguments).command == RunCommand.self
    let end = isRun ? all.dropFirst().firstIndex { $0.text == "--" } : nil
    if let end, end < unreadable { return }
    throw .usage(
      "argument \(unreadable) is not UTF-8 (not repeated here), and would be taken for another name",
      try: "the name in UTF-8; only coffer run passes any bytes on, after --")
  }

  /// Arguments as the parser can take them: it looks for an option's `=` among characters, and a combining mark after it makes one
  /// character of both.
  static func split(_ arguments: [String]) -> [String] {
    let end = arguments.firstIndex(of: "--") ?? arguments.count
    return arguments[..<end].flatMap { word -> [String] in
      guard word.utf8.starts(with: "--".utf8), let pair = Attributes.split(word), !word.contains("=") else { return [word] }
      return [pair.name, pair.value]
    } + arguments[end...]
  }
}

/// The names under which this program is a helper of other programs: they find it on PATH by its name alone.
enum ProgramName {
  static let helpers: [String: [String]] = [
    "git-credential-coffer": ["credential", "git"], "docker-credential-coffer": ["credential", "docker"],
  ]

  /// The words of the command line `words`, whose first is the program's name.
  static func arguments(_ words: [String]) -> [String] {
    let name = words.first?.split(separator: "/").last.map(String.init) ?? ""
    // Docker's own helpers know these, and the parser would take them for its own.
    if name == "docker-credential-coffer", words.count == 2, ["-v", "--version"].contains(words[1]) {
      return ["credential", "docker", "version"]
    }
    return (helpers[name] ?? []) + words.dropFirst()
  }
}

/// `coffer --home DIR get KEY` means `coffer get KEY --home DIR`: the options of the program may stand before the command.
enum LeadingOptions {
  private static let withValue: Swift.Set = ["--home"]
  private static let flags: Swift.Set = ["--quiet", "-q", "--json", "--yes"]

  static func moved(_ arguments: [String]) -> [String] { line(arguments).words }

  /// A command line, and the command that it names: the root where it names none.
  struct Line {
    let words: [String]
    /// How many of the words are the command's name.
    var depth = 0
    var command: any ParsableCommand.Type = CofferCommand.self
  }

  static func line(_ arguments: [String]) -> Line {
    var rest = arguments[...]
    var options: [String] = []
    while let word = rest.first, word.hasPrefix("-") {
      let name = word.split(separator: "=", maxSplits: 1).first.map(String.init) ?? word
      if flags.contains(word) || (withValue.contains(name) && name != word) {
        options.append(word)
        rest = rest.dropFirst()
      } else if withValue.contains(word), rest.count > 1 {
        options += rest.prefix(2)
        rest = rest.dropFirst(2)
      } else {
        break
      }
    }
    var path: [String] = []
    var type: any ParsableCommand.Type = CofferCommand.self
    while let word = rest.first, let next = type.configuration.subcommands.first(where: { $0.answers(to: word) }) {
      path.append(word)
      type = next
      rest = rest.dropFirst()
    }
    guard !path.isEmpty else { return Line(words: arguments) }
    // For `set`, --json after the command is the type of a value: before it, it asks for errors in JSON, which Main knows.
    if path == ["set"] { options.removeAll { $0 == "--json" } }
    return Line(words: path + options + rest, depth: path.count, command: type)
  }
}

/// Options that other programs have and this one never will: a secret on a command line is in the process list, the shell's
/// history and the audit log before the program even starts.
enum SecretArguments {
  private static let names: Swift.Set = [
    "--passphrase", "--password", "--pass", "--secret-value", "--value", "--token", "--new-passphrase", "--key",
  ]

  static func refuse(_ arguments: [String]) throws(Failure) {
    for word in arguments.prefix(while: { $0 != "--" }) where word.hasPrefix("--") {
      let name = word.prefix { $0 != "=" }
      guard names.contains(String(name)) else { continue }
      throw .usage(
        "there is no \(name): a secret is never an argument, because every process and the shell's history would see it",
        try: name.contains("pass")
          ? "--passphrase-file PATH, --passphrase-fd N, or the prompt" : "standard input, --file PATH, --fd N, or --generate")
    }
  }

  /// The refusal of a value given as a word.
  static func refusal(_ what: String) -> Failure {
    .usage(
      "\(what) was given as an argument; a secret is never one, because every process and the shell's history would see it",
      try: "standard input, --file PATH, --fd N, the prompt, or --generate; and change this secret, it may have been seen")
  }
}

/// Words of macOS's `defaults` that mean something which is not there on Linux. Taken as a domain or an option they would store a
/// preference where nobody looks for it.
enum AppleWords {
  private static let globalDomain: Swift.Set = [
    "-g", "-globalDomain", "-global", "NSGlobalDomain", "Apple Global Domain", ".GlobalPreferences",
  ]
  private static let hostOptions: Swift.Set = ["-currentHost", "-host"]

  /// Refuses them where a domain stands: after `defaults`, or after its command.
  static func refuse(_ arguments: [String]) throws(Failure) {
    let words = LeadingOptions.moved(arguments)
    guard words.first == "defaults" else { return }
    let isCommand = DefaultsCommand.configuration.subcommands.contains { type in words.count > 1 && type.answers(to: words[1]) }
    // A key or a value may well be such a word: only the domain's place counts.
    guard let word = withoutOurOptions(words.dropFirst(isCommand ? 2 : 1)).first else { return }
    if globalDomain.contains(word) {
      throw .usage(
        "there is no global domain here: no program on Linux reads one", try: "the domain of the program, such as com.example.app"
      )
    }
    if hostOptions.contains(word) {
      throw .usage("preferences here belong to the user, not to a host", try: "the command without \(word)")
    }
    if word == "-app" {
      throw .usage("applications have no bundles here to find a domain in", try: "the domain, from coffer defaults domains")
    }
  }

  private static func withoutOurOptions(_ words: ArraySlice<String>) -> ArraySlice<String> {
    var rest = words
    while let word = rest.first {
      if word == "--home" {
        rest = rest.dropFirst(2)
      } else if ["--", "--json", "--quiet", "-q", "--yes"].contains(word) || word.hasPrefix("--home=") {
        rest = rest.dropFirst()
      } else {
        break
      }
    }
    return rest
  }
}

extension CommonOptions {
  /// Whether a command line asks for JSON, even one that cannot be parsed: its error is JSON then. After `set`, --json is the
  /// type of a value.
  static func asksForJSON(_ arguments: [String]) -> Bool {
    let isSet = LeadingOptions.moved(arguments).first == "set"
    return arguments.prefix { $0 != "--" && !(isSet && $0 == "set") }.contains("--json")
  }
}
