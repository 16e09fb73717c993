internal import ArgumentParser
internal import CofferTerminal

enum OptionForm {
  /// The forms by the value's name in help pages.
  private static let forms = [
    "n": number, "number": number, "words": number, "bits": number, "seconds": number,
    "time": "a time: 90s, 15m, 2h or 1d", "when": "30d, 12h, 2026-12-31 or never",
  ]
  private static let number = "a whole number, 0 or more"
  /// Options whose value may be mistaken for the secret itself.
  private static let nearSecrets = ["fd", "passphrase", "key", "recovery", "identity"]

  /// Nil for a message about something else.
  static func explain(_ message: String, _ arguments: Arguments, _ name: String) -> Failure? {
    guard let quoted = message.split(separator: "'", omittingEmptySubsequences: false).dropFirst().first,
      let option = quoted.split(whereSeparator: { " =".contains($0) }).first.map(String.init), option.hasPrefix("-")
    else { return nil }
    let all = definitions(of: arguments.command)
    let definition = all.first { $0.spellings.contains(option) }
    let cure = [definition.flatMap(form), "\(name) --help"].compactMap(\.self).joined(separator: "; ")
    let given = given(option, arguments.given)
    // The parser takes a negative number for an option.
    let isNegative = given.map { $0.first == "-" && $0.dropFirst().first?.isNumber == true } ?? false
    let isMissing = message.hasPrefix("Missing value for") && !isNegative
    if isMissing || (given == nil && ProgramOptions.withValue.contains(option)) {
      return .usage("\(option) needs a value", try: cure)
    }
    if message.lowercased().hasPrefix("unknown option") {
      let spellings = all.flatMap(\.spellings)
      let near =
        RetiredWords.meant(by: option, of: arguments.command, among: spellings)
        ?? (option.hasPrefix("--") ? LikelyNames.near(option, among: spellings).first : nil)
      let question = near.map { "\(LikelyNames.asked)\($0)? " }
      let attribute = all.contains { $0.name == "attribute" } ? RetiredWords.attributes[option] : nil
      return .usage(
        "there is no option '\(Printable.line(option))'",
        try: attribute.map { "--attribute \($0); \(name) --help" } ?? (question ?? "") + "\(name) --help")
    }
    guard isNegative || message.contains("is invalid for") else { return nil }
    guard let given, !nearSecrets.contains(where: option.contains) else {
      return .usage("\(option) does not take this value (not repeated here)", try: cure)
    }
    return .usage("\(option) does not take '\(Printable.line(given))'", try: cure)
  }

  private static func form(_ option: ArgumentDefinition) -> String? {
    option.values.map { $0.dropLast().joined(separator: ", ") + " or " + ($0.last ?? "") } ?? forms[option.valueName ?? ""]
  }

  private static func definitions(of command: any ParsableCommand.Type) -> [ArgumentDefinition] {
    // Without them the error has no suggestion.
    do { return command.configuration.subcommands.isEmpty ? try ArgumentDefinition.all(of: command) : [] } catch { return [] }
  }

  private static func given(_ option: String, _ words: [String]) -> String? {
    for (index, word) in words.enumerated() {
      if word == option { return words.dropFirst(index + 1).first }
      if word.hasPrefix("\(option)=") { return String(word.dropFirst(option.count + 1)) }
    }
    return nil
  }
}
