internal import ArgumentParser
internal import CofferPlatform
internal import CofferTerminal

/// The command line of this process, read once: the command it names, its words as the parser takes them, and each reason to
/// refuse it before it is parsed.
struct Arguments {
  /// The words after the program's name.
  let given: [String]
  /// The same words with the command's name first, and behind it the options that stood before it.
  let words: [String]
  /// The number of `words` that are the command's name.
  let depth: Int
  /// The command; the root where the words name none.
  let command: any ParsableCommand.Type
  /// Whether errors are JSON, even those of a line that cannot be parsed. After `set`, `--json` is the type of a value.
  let wantsJSON: Bool
  /// The refusal of the whole line; nil if it may be parsed.
  let refusal: Failure?

  /// - Parameter line: every word of the process, the program's name first.
  init(_ line: [ByteWord]) {
    let typed = Self.split(ProgramName.arguments(line.map(\.text)))
    given = typed == ["-V"] ? ["version"] : typed
    let (ordered, depth, command) = Self.commandFirst(given)
    (self.depth, self.command) = (depth, command)
    let isRun = command == RunCommand.self
    words = isRun ? RunCommand.separated(ordered, from: depth) : ordered
    let isSet = words.first == "set"
    // The words after the name of the command to run belong to that command.
    let judged = isRun ? words : given
    wantsJSON = judged.prefix { $0 != "--" && !(isSet && $0 == "set") }.contains("--json")
    refusal = Refusals.first(of: line, given: judged, words: words, command: command)
  }

  /// The words behind the command's name.
  var rest: ArraySlice<String> { words.dropFirst(depth) }

  /// Whether the words name a command that does something, not a family of commands.
  var namesLeaf: Bool { depth > 0 && command.configuration.subcommands.isEmpty }

  /// The command that a shell's script asks to complete an argument of, and the question without the command's name; nil for any
  /// other line. The whole tree of commands would take longer than the answer.
  var completion: (command: any ParsableCommand.Type, words: [String])? {
    guard given.first == "---completion", let end = given.firstIndex(of: "--") else { return nil }
    var command: any ParsableCommand.Type = CofferCommand.self
    for word in given[1..<end] {
      guard let next = command.configuration.subcommands.first(where: { $0.answers(to: word) }) else { return nil }
      command = next
    }
    return (command, ["---completion"] + given[end...])
  }

  /// Arguments as the parser can take them: it looks for an option's `=` among characters, and a combining mark after it makes
  /// one character of both.
  private static func split(_ arguments: [String]) -> [String] {
    let end = arguments.firstIndex(of: "--") ?? arguments.count
    return arguments[..<end].flatMap { word -> [String] in
      guard word.utf8.starts(with: "--".utf8), let pair = word.nameAndValue, !word.contains("=") else { return [word] }
      return [pair.name, pair.value]
    } + arguments[end...]
  }

  /// `coffer --home DIR get KEY` means `coffer get KEY --home DIR`: the options of the program may stand before the command.
  private static func commandFirst(
    _ given: [String]
  ) -> (words: [String], depth: Int, command: any ParsableCommand.Type) {
    var (options, rest) = ProgramOptions.split(given[...])
    var path: [String] = []
    var command: any ParsableCommand.Type = CofferCommand.self
    while true {
      // Between the words of a command's name as well. Behind a name that is whole they are its own.
      let (between, words) = path.isEmpty || command.configuration.subcommands.isEmpty ? ([], rest) : ProgramOptions.split(rest)
      guard let word = words.first, !word.hasPrefix("-"),
        let next = command.configuration.subcommands.first(where: { $0.answers(to: word) })
      else { break }
      options += between
      path.append(word)
      command = next
      rest = words.dropFirst()
    }
    // Of a word that is no command nothing else is said than that: the options before it are not to blame.
    let isNoCommand = rest.first.map { !$0.hasPrefix("-") } ?? false
    guard !path.isEmpty else { return (isNoCommand ? Array(rest) : given, 0, CofferCommand.self) }
    let configuration = command.configuration
    if isNoCommand, !configuration.subcommands.isEmpty, configuration.defaultSubcommand == nil {
      return (path + rest, path.count, command)
    }
    // Behind `set`, --json is the type of a value; before it, it asks for errors in JSON.
    if path == ["set"] { options.removeAll { $0 == "--json" } }
    return (path + options + rest, path.count, command)
  }
}

/// The options that every command has, where they stand before a word that is none of them.
enum ProgramOptions {
  private static let withValue = ["--home", "--vault"]
  private static let flags = ["--quiet", "-q", "--json", "--yes"]

  /// The options at the beginning of `words`, and the words behind them.
  static func split(_ words: ArraySlice<String>) -> (options: [String], rest: ArraySlice<String>) {
    var (options, rest) = ([String](), words)
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
    return (options, rest)
  }
}

/// The names under which this program is a helper of other programs: they find it on PATH by its name alone.
enum ProgramName {
  static let helpers: [String: [String]] = [
    "git-credential-coffer": ["credential", "git"], "docker-credential-coffer": ["credential", "docker"],
    "cargo-credential-coffer": ["credential", "cargo"], "coffer-askpass": ["credential", "askpass"],
  ]

  /// The name of another program's, which is there where somebody asked for it alone.
  static let keyring = "keyring"

  /// The words of the command line `words`, whose first is the program's name.
  static func arguments(_ words: [String]) -> [String] {
    let name = words.first?.split(separator: "/").last.map(String.init) ?? ""
    // Docker's own helpers know these, and the parser would take them for its own.
    if name == "docker-credential-coffer", words.count == 2, ["-v", "--version"].contains(words[1]) {
      return ["credential", "docker", "version"]
    }
    if name == keyring { return ["credential", "keyring"] + words.dropFirst() }
    // The question of ssh or git may look like an option.
    if name == "coffer-askpass", words.count == 2 { return ["credential", "askpass", "--", words[1]] }
    return (helpers[name] ?? []) + words.dropFirst()
  }
}
