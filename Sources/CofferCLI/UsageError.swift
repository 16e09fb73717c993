internal import ArgumentParser

/// Errors of the argument parser, in this program's words.
enum UsageError {
  static func explain(_ error: any Error, _ arguments: [String]) -> Failure {
    let line = LeadingOptions.line(arguments)
    let name = (["coffer"] + line.words.prefix(line.depth)).joined(separator: " ")
    if name == "coffer", let word = arguments.first, !word.hasPrefix("-") {
      return .usage("there is no command of the name '\(word)'", try: hint(name, line.command, word))
    }
    let message = withoutValues(CofferCommand.message(for: error), arguments)
    guard let first = message.split(separator: "\n").first, !message.contains("nexpected argument") else {
      guard name != "coffer run" else {
        return .usage("the command does not stand after --", try: "coffer run --env NAME=coffer://… -- COMMAND WORDS")
      }
      if !line.command.configuration.subcommands.isEmpty, let word = line.words.dropFirst(line.depth).first, !word.hasPrefix("-")
      {
        return .usage("\(name) has no such command (not repeated here)", try: hint(name, line.command, word))
      }
      return .usage("there is an argument too many (not repeated here)", try: "\(name) --help; a secret is never an argument")
    }
    return .usage(first.prefix(1).lowercased() + first.dropFirst().trimmingDot, try: "\(name) --help")
  }

  /// The parser quotes what it could not use, and that may be a secret in the wrong place: every value is left out.
  private static func withoutValues(_ message: String, _ arguments: [String]) -> String {
    arguments.reduce(message) { message, word in
      let value = word.hasPrefix("-") ? word.split(separator: "=", maxSplits: 1).dropFirst().first : word[...]
      guard let value, !value.isEmpty else { return message }
      return message.replacing("'\(value)'", with: "(not repeated here)")
    }
  }

  private static func hint(_ name: String, _ command: any ParsableCommand.Type, _ word: String) -> String {
    command.nearest(to: word).map { "\(name) \($0)? \(name) --help lists all commands" } ?? "\(name) --help"
  }
}

extension ParsableCommand {
  static func answers(to word: String) -> Bool {
    configuration.commandName == word || configuration.aliases.contains(word)
  }
}

extension Substring {
  fileprivate var trimmingDot: Substring { hasSuffix(".") ? dropLast() : self }
}
