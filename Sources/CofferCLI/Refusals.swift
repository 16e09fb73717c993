internal import ArgumentParser
internal import CofferTerminal

enum Refusals {
  static func first(
    of line: [ByteWord], given: [String], words: [String], command: any ParsableCommand.Type
  ) -> Failure? {
    // Of ssh run alone --key is an option: a key's name.
    let allowed = command == SSHRunCommand.self ? "--key" : nil
    return unreadable(line, command) ?? RetiredWords.refusal(words[...])
      ?? SecretArguments.refusal(given, except: allowed) ?? AppleWords.refusal(words)
  }

  /// Refuses words that are not UTF-8, except those of a command to run, which gets them unchanged.
  private static func unreadable(_ line: [ByteWord], _ command: any ParsableCommand.Type) -> Failure? {
    guard let unreadable = line.dropFirst().firstIndex(where: { !$0.isText }) else { return nil }
    let startsPrograms = command == RunCommand.self || command == SSHRunCommand.self
    let end = startsPrograms ? line.dropFirst().firstIndex { $0.text == "--" } : nil
    if let end, end < unreadable { return nil }
    return .usage(
      "argument \(unreadable) is not UTF-8 (not repeated here) and could be read as another name",
      try: "the name in UTF-8; only coffer run and coffer ssh run accept other bytes, after --")
  }
}

/// Words of macOS's `defaults` that have no meaning on Linux. As a domain or an option they would store a preference in an
/// unexpected place.
private enum AppleWords {
  private static let globalDomain = [
    "-g", "-globalDomain", "-global", "NSGlobalDomain", "Apple Global Domain", ".GlobalPreferences",
  ]
  private static let hostOptions = ["-currentHost", "-host"]

  /// Refuses them in a domain's place: after `defaults`, or after its command.
  static func refusal(_ words: [String]) -> Failure? {
    guard words.first == "defaults" else { return nil }
    let isCommand = DefaultsCommand.configuration.subcommands.contains { type in words.count > 1 && type.answers(to: words[1]) }
    // A key or a value may be such a word: only the domain's place counts.
    var rest = ProgramOptions.split(words.dropFirst(isCommand ? 2 : 1)).rest
    while rest.first == "--" { rest = ProgramOptions.split(rest.dropFirst()).rest }
    guard let word = rest.first else { return nil }
    if globalDomain.contains(word) {
      return .usage("there is no global domain on Linux", try: "the domain of the program, such as com.example.app")
    }
    if hostOptions.contains(word) {
      return .usage("on Linux, preferences belong to the user, not to a host", try: "the command without \(word)")
    }
    guard word == "-app" else { return nil }
    return .usage("on Linux, applications have no bundles with a domain", try: "the domain, from coffer defaults domains")
  }
}
