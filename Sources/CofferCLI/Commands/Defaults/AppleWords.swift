internal import ArgumentParser

/// Words of macOS's `defaults` that mean something which is not there on Linux. Taken as a domain or an option they would store a
/// preference where nobody looks for it.
enum AppleWords {
  private static let globalDomain: Swift.Set = [
    "-g", "-globalDomain", "-global", "NSGlobalDomain", "Apple Global Domain", ".GlobalPreferences",
  ]
  private static let hostOptions: Swift.Set = ["-currentHost", "-host"]

  /// Refuses them where a domain stands: after `defaults`, or after its command.
  static func refuse(_ arguments: [String]) throws(Failure) {
    let words = LeadingOptions.moved(arguments)
    guard words.first == "defaults" else { return }
    let isCommand = DefaultsCommand.configuration.subcommands.contains { type in words.count > 1 && type.answers(to: words[1]) }
    // A key or a value may well be such a word: only the domain's place counts.
    guard let word = withoutOurOptions(words.dropFirst(isCommand ? 2 : 1)).first else { return }
    if globalDomain.contains(word) {
      throw .usage(
        "there is no global domain here: no program on Linux reads one", try: "the domain of the program, such as com.example.app"
      )
    }
    if hostOptions.contains(word) {
      throw .usage("preferences here belong to the user, not to a host", try: "the command without \(word)")
    }
    if word == "-app" {
      throw .usage("applications have no bundles here to find a domain in", try: "the domain, from coffer defaults domains")
    }
  }

  private static func withoutOurOptions(_ words: ArraySlice<String>) -> ArraySlice<String> {
    var rest = words
    while let word = rest.first {
      if word == "--home" {
        rest = rest.dropFirst(2)
      } else if ["--", "--json", "--quiet", "-q", "--yes"].contains(word) || word.hasPrefix("--home=") {
        rest = rest.dropFirst()
      } else {
        break
      }
    }
    return rest
  }
}
