internal import ArgumentParser

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
