internal import ArgumentParser
internal import CofferTerminal

enum UsageError {
  /// - Parameter arguments: nil for an error from another source.
  static func explain(_ error: any Error, _ arguments: Arguments?) -> Failure {
    guard let arguments else { return said(CofferCommand.message(for: error)[...], "coffer") }
    let name = (["coffer"] + arguments.words.prefix(arguments.depth)).joined(separator: " ")
    if name == "coffer", let word = arguments.given.first, !word.hasPrefix("-") {
      let family = VaultCommand.configuration.subcommands.contains { $0.answers(to: word) }
      let cure = family ? "coffer vault \(word)? coffer --help lists all commands" : hint(name, arguments.command, word)
      return .usage("there is no command of the name '\(word)'", try: cure)
    }
    let message = withoutValues(CofferCommand.message(for: error), arguments.given)
    // An option's list of values has lines of its own.
    if let first = message.replacing(":\n  - ", with: ": ").replacing("\n  - ", with: ", ").split(separator: "\n").first,
      !message.contains("nexpected argument")
    {
      return OptionForm.explain(first, arguments, name) ?? said(first, name)
    }
    guard name != "coffer run" else {
      return .usage("the command does not stand after --", try: "coffer run --env NAME=coffer://… -- COMMAND WORDS")
    }
    if !arguments.command.configuration.subcommands.isEmpty, let word = arguments.rest.first, !word.hasPrefix("-") {
      // A word that is nearly a command is no misplaced secret.
      let isNear = arguments.command.nearest(to: word) != nil
      return .usage(
        isNear ? "\(name) has no command of the name '\(word)'" : "\(name) has no such command (not repeated here)",
        try: hint(name, arguments.command, word))
    }
    return .usage("there is an argument too many (not repeated here)", try: "\(name) --help; a secret is never an argument")
  }

  private static func said(_ line: Substring, _ name: String) -> Failure {
    .usage(line.prefix(1).lowercased() + line.dropFirst().trimmingDot, try: "\(name) --help")
  }

  /// The parser quotes words that it could not use, and one may be a misplaced secret: every value is left out.
  private static func withoutValues(_ message: String, _ arguments: [String]) -> String {
    arguments.reduce(message) { message, word in
      let value = word.hasPrefix("-") ? word.split(separator: "=", maxSplits: 1).dropFirst().first : word[...]
      guard let value, !value.isEmpty else { return message }
      return message.replacing("'\(value)'", with: "(not repeated here)")
    }
  }

  private static func hint(_ name: String, _ command: any ParsableCommand.Type, _ word: String) -> String {
    // The opposite of a command is not another spelling of it.
    command.nearest(to: word).flatMap { word == "un\($0)" ? nil : $0 }.map { "\(name) \($0)? \(name) --help lists all commands" }
      ?? "\(name) --help"
  }
}

extension ParsableCommand {
  static func answers(to word: String) -> Bool {
    let own = configuration
    return own.commandName == word || own.aliases.contains(word)
  }
}

extension StringProtocol {
  var trimmingDot: String { String(hasSuffix(".") ? dropLast() : self[...]) }
}

extension ParsableCommand {
  /// The most likely command for a mistyped word; nil if none is near.
  ///
  /// Near is one letter more, less or other, or two neighbors swapped, and twice that from six letters on: a shorter word at
  /// such a distance is another word.
  static func nearest(to word: String) -> String? {
    // The longest name has fewer letters; the distance of a long text is not worth its time.
    guard word.utf8.count <= 32 else { return nil }
    return configuration.subcommands.map { ($0.configuration.commandName ?? "", letters(between: $0, and: word)) }
      .filter { $0.1 <= (word.count < 6 ? 1 : 2) }
      .min { $0.1 < $1.1 }?.0
  }

  private static func letters(between command: any ParsableCommand.Type, and word: String) -> Int {
    let names = [command.configuration.commandName ?? ""] + command.configuration.aliases
    return names.map { Spelling.distance(Array($0), Array(word)) }.min() ?? .max
  }
}
