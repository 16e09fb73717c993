internal import ArgumentParser

/// Command lines that are refused before they are parsed.
enum Refusals {
  /// The first reason to refuse the process's words `line`; nil where there is none.
  static func first(
    of line: [ByteWord], given: [String], words: [String], command: any ParsableCommand.Type
  ) -> Failure? {
    unreadable(line, command) ?? SecretArguments.refusal(given) ?? AppleWords.refusal(words)
  }

  /// Refuses words that are not UTF-8, but for those of a command to be run, which gets them as they are.
  private static func unreadable(_ line: [ByteWord], _ command: any ParsableCommand.Type) -> Failure? {
    guard let unreadable = line.dropFirst().firstIndex(where: { !$0.isText }) else { return nil }
    let end = command == RunCommand.self ? line.dropFirst().firstIndex { $0.text == "--" } : nil
    if let end, end < unreadable { return nil }
    return .usage(
      "argument \(unreadable) is not UTF-8 (not repeated here), and would be taken for another name",
      try: "the name in UTF-8; only coffer run passes any bytes on, after --")
  }
}

/// Options that other programs have and this one never will: a secret on a command line is in the process list, the shell's
/// history and the audit log before the program even starts.
enum SecretArguments {
  private static let names = [
    "--passphrase", "--password", "--pass", "--secret-value", "--value", "--token", "--new-passphrase", "--key",
  ]

  fileprivate static func refusal(_ given: [String]) -> Failure? {
    for word in given.prefix(while: { $0 != "--" }) where word.hasPrefix("--") {
      let name = word.prefix { $0 != "=" }
      guard names.contains(String(name)) else { continue }
      return .usage(
        "there is no \(name): a secret is never an argument, because every process and the shell's history would see it",
        try: name.contains("pass")
          ? "--passphrase-file PATH, --passphrase-fd N, or the prompt" : "standard input, --file PATH, --fd N, or --generate")
    }
    return nil
  }

  /// The refusal of a value given as a word.
  static func refusal(_ what: String) -> Failure {
    .usage(
      "\(what) was given as an argument; a secret is never one, because every process and the shell's history would see it",
      try: "standard input, --file PATH, --fd N, the prompt, or --generate; and change this secret, it may have been seen")
  }
}

/// Words of macOS's `defaults` for things that Linux does not have. Taken as a domain or an option they would store a preference
/// where nobody looks for it.
private enum AppleWords {
  private static let globalDomain = [
    "-g", "-globalDomain", "-global", "NSGlobalDomain", "Apple Global Domain", ".GlobalPreferences",
  ]
  private static let hostOptions = ["-currentHost", "-host"]

  /// Refuses them where a domain stands: after `defaults`, or after its command.
  static func refusal(_ words: [String]) -> Failure? {
    guard words.first == "defaults" else { return nil }
    let isCommand = DefaultsCommand.configuration.subcommands.contains { type in words.count > 1 && type.answers(to: words[1]) }
    // A key or a value may well be such a word: only the domain's place counts.
    var rest = ProgramOptions.split(words.dropFirst(isCommand ? 2 : 1)).rest
    while rest.first == "--" { rest = ProgramOptions.split(rest.dropFirst()).rest }
    guard let word = rest.first else { return nil }
    if globalDomain.contains(word) {
      return .usage(
        "there is no global domain here: no program on Linux reads one", try: "the domain of the program, such as com.example.app"
      )
    }
    if hostOptions.contains(word) {
      return .usage("preferences here belong to the user, not to a host", try: "the command without \(word)")
    }
    guard word == "-app" else { return nil }
    return .usage("applications have no bundles here to find a domain in", try: "the domain, from coffer defaults domains")
  }
}
