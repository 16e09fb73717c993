internal import ArgumentParser

/// `coffer --home DIR get KEY` means `coffer get KEY --home DIR`: the options of the program may stand before the command.
enum LeadingOptions {
  private static let withValue: Swift.Set = ["--home"]
  private static let flags: Swift.Set = ["--quiet", "-q", "--json", "--yes"]

  static func moved(_ arguments: [String]) -> [String] {
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
    guard !path.isEmpty else { return arguments }
    // For `set`, --json after the command is the type of a value: before it, it asks for errors in JSON, which Main knows.
    if path == ["set"] { options.removeAll { $0 == "--json" } }
    return path + options + rest
  }
}
