internal import ArgumentParser
internal import CofferTerminal

/// The command line of this process, read once.
struct Arguments {
  let given: [String]
  /// ``given``, the command's name first, followed by the options that preceded it.
  let words: [String]
  /// Words in the command's name.
  let depth: Int
  /// The root if the words name none.
  let command: any ParsableCommand.Type
  /// Also for a line that cannot be parsed.
  let wantsJSON: Bool
  /// Why the line is not parsed; nil otherwise.
  let refusal: Failure?

  /// - Parameter line: every word of the process, the program's name first.
  init(_ line: [ByteWord]) {
    let typed = Self.split(ProgramName.arguments(line.map(\.text)))
    given = typed == ["-V"] ? ["version"] : typed
    let (ordered, depth, command) = Self.commandFirst(given)
    (self.depth, self.command) = (depth, command)
    let isRun = command == RunCommand.self
    words = isRun ? RunCommand.separated(ordered, from: depth) : ordered
    // Words after the command to run belong to that command.
    let judged = isRun ? words : given
    wantsJSON = judged.prefix { $0 != "--" }.contains("--json")
    refusal = Refusals.first(of: line, given: judged, words: words, command: command)
  }

  var rest: ArraySlice<String> { words.dropFirst(depth) }

  var namesLeaf: Bool { depth > 0 && command.configuration.subcommands.isEmpty }

  /// Splits options at `=` for the parser, which searches characters: `=` and a combining mark after it are one character.
  private static func split(_ arguments: [String]) -> [String] {
    let end = arguments.firstIndex(of: "--") ?? arguments.count
    return arguments[..<end].flatMap { word -> [String] in
      guard word.utf8.starts(with: "--".utf8), let pair = word.nameAndValue, !word.contains("=") else { return [word] }
      return [pair.name, pair.value]
    } + arguments[end...]
  }

  /// Moves program options behind the command: `coffer --home DIR get KEY` means `coffer get KEY --home DIR`.
  private static func commandFirst(
    _ given: [String]
  ) -> (words: [String], depth: Int, command: any ParsableCommand.Type) {
    var (options, rest) = ProgramOptions.split(given[...])
    var path: [String] = []
    var command: any ParsableCommand.Type = CofferCommand.self
    while true {
      // Options may also stand between the words of a command's name. Behind the full name they belong to the command.
      let (between, words) = path.isEmpty || command.configuration.subcommands.isEmpty ? ([], rest) : ProgramOptions.split(rest)
      guard let word = words.first, !word.hasPrefix("-"), let next = command.named(word) else { break }
      options += between
      if next.isOutside {
        // `vault get` is `get` among the items alone.
        path = []
        if next.command is any TwoStoreCommand.Type { options.append("--items") }
      }
      path.append(word)
      command = next.command
      rest = words.dropFirst()
    }
    // The error for an unknown command names only that.
    let isNoCommand = rest.first.map { !$0.hasPrefix("-") } ?? false
    guard !path.isEmpty else { return (isNoCommand ? Array(rest) : given, 0, CofferCommand.self) }
    let configuration = command.configuration
    // A group alone has its help; the common options change nothing there.
    if !configuration.subcommands.isEmpty, configuration.defaultSubcommand == nil {
      return (path + ProgramOptions.split(rest).rest, path.count, command)
    }
    return (path + options + rest, path.count, command)
  }
}

enum ProgramOptions {
  static let withValue = ["--home", "--vault"]
  static let flags = ["--quiet", "-q", "--json", "--yes"]

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

/// The names under which this program is a helper of other programs, which find it on PATH by name.
enum ProgramName {
  static let helpers: [String: [String]] = [
    "git-credential-coffer": ["helper", "git"], "docker-credential-coffer": ["helper", "docker"],
    "cargo-credential-coffer": ["helper", "cargo"], "coffer-askpass": ["helper", "askpass"],
    "age-plugin-coffer": ["helper", "age"],
  ]

  /// Installed only on request.
  static let keyring = "keyring"

  /// `words` begins with the program's name.
  static func arguments(_ words: [String]) -> [String] {
    let name = words.first?.split(separator: "/").last.map(String.init) ?? ""
    // Docker's own helpers know these, and the parser would take them for its own.
    if name == "docker-credential-coffer", words.count == 2, ["-v", "--version"].contains(words[1]) {
      return ["helper", "docker", "version"]
    }
    if name == keyring { return ["helper", "keyring"] + words.dropFirst() }
    // The question of ssh or git may look like an option.
    if name == "coffer-askpass", words.count == 2 { return ["helper", "askpass", "--", words[1]] }
    return (helpers[name] ?? []) + words.dropFirst()
  }
}
