internal import ArgumentParser

/// `coffer help`, with its topics that are no commands.
enum HelpTopic {
  /// The text for `coffer help …`; nil when the command line is something else.
  static func answer(_ arguments: [String]) throws -> String? {
    guard arguments.first == "help" else { return nil }
    let words = arguments.dropFirst()
    if words.first == "exit-codes" { return exitCodes }
    var type: any ParsableCommand.Type = CofferCommand.self
    for word in words {
      guard let next = type.configuration.subcommands.first(where: { $0.answers(to: word) }) else {
        throw Failure.usage("there is no command or topic of the name '\(Printable.line(word))'", try: "coffer --help")
      }
      type = next
    }
    return CofferCommand.helpMessage(for: type).trimmedEnd
  }

  static var exitCodes: String {
    "Every exit status of coffer has one meaning.\n\n"
      + ExitStatus.allCases.map { status in
        let code = String(status.rawValue)
        return String(repeating: " ", count: 5 - code.count) + code + "  " + status.meaning
      }.joined(separator: "\n")
  }
}
