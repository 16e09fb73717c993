internal import ArgumentParser
internal import CofferTerminal

enum UsageError {
  /// - Parameter arguments: nil for an error from another source.
  static func explain(_ error: any Error, _ arguments: Arguments?) -> Failure {
    guard let arguments else { return said(CofferCommand.message(for: error)[...], "coffer") }
    let name = (["coffer"] + arguments.words.prefix(arguments.depth)).joined(separator: " ")
    if name == "coffer", let word = arguments.words.first, !word.hasPrefix("-") {
      return .usage("there is no command '\(word)'", try: hint(meant(by: word), name))
    }
    let message = withoutValues(CofferCommand.message(for: error), arguments.given)
    if let failure = OptionForm.explain(message, arguments, name) ?? missing(message, arguments) { return failure }
    // An option's list of values has lines of its own.
    if let first = message.replacing(":\n  - ", with: ": ").replacing("\n  - ", with: ", ").split(separator: "\n").first,
      !message.contains("nexpected argument")
    {
      return said(first, name)
    }
    guard name != "coffer run" else {
      return .usage("the command must follow --", try: "coffer run --env NAME=coffer://… -- COMMAND WORDS")
    }
    if !arguments.command.configuration.subcommands.isEmpty, let word = arguments.rest.first, !word.hasPrefix("-") {
      if CofferCommand.configuration.subcommands.contains(where: { $0.answers(to: word) }) {
        return .usage("there is no command '\(name) \(word)'", try: hint("coffer \(word)", name))
      }
      // A word that is nearly a command is no misplaced secret; any other is not repeated.
      guard let near = near(word, in: arguments.command) else {
        return .usage("there is no such command in '\(name)'", try: "\(name) --help")
      }
      return .usage("there is no command '\(name) \(word)'", try: hint("\(name) \(near)", name))
    }
    if let (what, cure) = RetiredWords.surplus[name] { return .usage(what, try: cure) }
    return .usage("there is an argument too many (not repeated here)", try: "\(name) --help; a secret is never an argument")
  }

  /// For an argument that is missing, under its name in the usage line.
  private static func missing(_ message: String, _ arguments: Arguments) -> Failure? {
    guard message.lowercased().hasPrefix("missing expected argument") else { return nil }
    do {
      let command = try CommandDefinition(Array(arguments.words.prefix(arguments.depth)), arguments.command)
      let found = command.positionals.first { message.contains("'<\($0.valueName ?? "")>") }
      guard let name = found?.value?.split(separator: " ").last else { return nil }
      let cure = RetiredWords.missing[arguments.command.configuration.commandName ?? ""]
      return .usage("\(name) is missing", try: cure ?? command.usage.replacing(" [options]", with: ""))
    } catch { return nil }
  }

  private static func meant(by word: String) -> String? {
    if VaultCommand.configuration.subcommands.contains(where: { $0.answers(to: word) }) { return "coffer vault \(word)" }
    if let near = near(word, in: CofferCommand.self) { return "coffer \(near)" }
    return HelpTopic.nearest(to: word).map { "coffer help \($0.name)" }
  }

  /// The opposite of a command is not another spelling of it.
  private static func near(_ word: String, in family: any ParsableCommand.Type) -> String? {
    family.nearest(to: word).flatMap { word == "un\($0)" ? nil : $0 }
  }

  private static func hint(_ meant: String?, _ family: String) -> String {
    meant.map { "\(LikelyNames.asked)\($0)? \(family) --help lists all commands" } ?? "\(family) --help"
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
}

extension Failure {
  /// The cure as a line that a person may copy; nil for a sentence.
  ///
  /// - Parameter given: the words after `coffer`. With the name that was probably meant they are such a line.
  func command(after given: [String]) -> String? {
    let (question, rest) = meaning
    let whole = Self.isWhole(rest) ? CommandText.inVault(rest) : nil
    guard let question else { return whole }
    let meant = String(question.dropFirst(LikelyNames.asked.count).dropLast())
    if key == nil, meant.hasPrefix("coffer ") { return CommandText.inVault(meant) }
    // Another program may have given an item a name that reads as two, or as an option.
    guard let key, let place = given.firstIndex(of: key), !meant.contains(", "), !meant.hasPrefix("-"), !rest.contains("?") else {
      return whole
    }
    return (["coffer"] + given[..<place] + [meant] + given[(place + 1)...]).map(CommandText.quoted).joined(separator: " ")
  }

  /// Whether `text` is a command line by itself: a command's words, and behind them nothing that may be the word of a sentence.
  private static func isWhole(_ text: String) -> Bool {
    let words = text.replacing(CommandText.coffer, with: "coffer", maxReplacements: 1).split(separator: " ").map(String.init)
    guard words.first == "coffer", words.count > 1 else { return false }
    let line = Arguments(words.map { ByteWord($0) })
    let isRest = { (word: String) in word.last.map { !",;:?…".contains($0) } ?? false && word.contains { !$0.isLowercase } }
    return (line.depth > 0 || words[1] == "--help") && line.rest.allSatisfy(isRest)
  }
}

extension ParsableCommand {
  /// The subcommand of the name `word`; behind `vault` also a verb of the root, which is outside of the group.
  static func named(_ word: String) -> (command: any ParsableCommand.Type, isOutside: Bool)? {
    if let own = configuration.subcommands.first(where: { $0.answers(to: word) }) { return (own, false) }
    guard self == VaultCommand.self else { return nil }
    return VaultCommand.itemCommands.first { $0.answers(to: word) }.map { ($0, true) }
  }

  static func answers(to word: String) -> Bool { names.contains(word) }

  private static var names: [String] { [configuration.commandName ?? ""] + configuration.aliases }

  /// Nearness is one letter more, less or other, or two neighbors swapped, and twice that from six letters on: a shorter
  /// word at such a distance is another word. Nil if none is near.
  static func nearest(to word: String) -> String? {
    // The longest name has fewer letters; the distance of a long text is not worth its time.
    guard word.utf8.count <= 32 else { return nil }
    let items = self == VaultCommand.self ? VaultCommand.itemCommands : []
    return (configuration.subcommands + items).map { command in
      (command.names[0], command.names.map { Spelling.distance(Array($0), Array(word)) }.min() ?? .max)
    }.filter { $0.1 <= (word.count < 6 ? 1 : 2) }.min { $0.1 < $1.1 }?.0
  }
}

extension StringProtocol {
  var trimmingDot: String { String(hasSuffix(".") ? dropLast() : self[...]) }
}
