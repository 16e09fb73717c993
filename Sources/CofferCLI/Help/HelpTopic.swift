internal import CCofferPages
internal import CofferTerminal

/// What `coffer help` says besides the commands: sections of the pages of the catalogue.
struct HelpTopic {
  let name: String
  /// In a line, without a dot.
  let abstract: String
  /// Headings of the pages; of two equal ones the first counts.
  let sections: [String]
  /// Whether the options that open the vault are listed.
  var listsUnlocking = false

  static let all: [HelpTopic] = [
    HelpTopic(
      name: "environment", abstract: "The environment variables and the place of the vault",
      sections: ["Environment", "The place of the vault"]),
    HelpTopic(name: "offline", abstract: "Reading a vault while its server is away", sections: ["Without the server"]),
    HelpTopic(name: "references", abstract: "References to secrets: coffer://service/account", sections: ["References"]),
    HelpTopic(name: "json", abstract: "Answers and errors for programs", sections: ["JSON"]),
    HelpTopic(
      name: "unlocking", abstract: "Ways to unlock the vault, and prompts", sections: ["Unlocking", "Prompts"],
      listsUnlocking: true),
    HelpTopic(name: "agent", abstract: "Settings of the agent, which keeps the vault unlocked", sections: ["Settings"]),
    HelpTopic(name: "git", abstract: "Credentials for git and docker", sections: ["git and docker"]),
    HelpTopic(
      name: "credentials", abstract: "Credentials for aws, kubectl, ssh, cargo, pip and uv",
      sections: [
        "Credentials of a host", "aws", "kubectl", "Prompts of ssh and git", "cargo", "pip and uv", "A netrc in memory",
      ]),
    HelpTopic(
      name: "scripting", abstract: "Guarantees for scripts",
      sections: ["Guarantees", "Declared and stored", "Other spellings"]),
    HelpTopic(name: "terminal", abstract: "Output at a terminal, and the variables that change it", sections: ["At a terminal"]),
    HelpTopic(name: "finding", abstract: "Names of items, and how to find them", sections: ["Names", "Finding an item"]),
    HelpTopic(
      name: "history", abstract: "Previous versions and deleted items, and how to bring them back",
      sections: ["History and undo"]),
    HelpTopic(name: "importing", abstract: "Import from and export to other programs", sections: ["Moving in and out"]),
    HelpTopic(name: "exit-codes", abstract: "The exit statuses", sections: []),
  ]

  static func named(_ name: String) -> HelpTopic? { all.first { $0.name == name } }

  /// By its name, or by a word of its titles.
  static func nearest(to word: String) -> HelpTopic? {
    if let name = LikelyNames.near(word, among: all.map(\.name)).first { return named(name) }
    guard word.count > 3 else { return nil }
    return all.first { topic in
      ([topic.abstract] + topic.sections).contains { title in
        title.lowercased().split(whereSeparator: { !$0.isLetter }).contains(word.lowercased()[...])
      }
    }
  }

  func blocks() throws -> [HelpMarkup] {
    guard !sections.isEmpty else {
      return [.title("Exit status"), .table(ExitStatus.allCases.map { ("\($0.rawValue)", $0.meaning) })]
    }
    let text = sections.flatMap { [.title($0)] + HelpMarkup.blocks(of: Self.lines(of: $0)) }
    return try text + (listsUnlocking ? [.title("Options"), .table(Self.unlocking.map { ($0.marked, $0.text) })] : [])
  }

  private static let pages = String(cString: coffer_pages()).split(separator: "\n", omittingEmptySubsequences: false)

  static func lines(of section: String) -> ArraySlice<Substring> {
    let heading = "## \(section)"
    return pages.drop { $0 != heading }.dropFirst().prefix { !$0.hasPrefix("## ") }
  }

  /// The options of every command that opens the vault.
  static var unlocking: [ArgumentDefinition] {
    get throws { try ArgumentDefinition.all(of: UnlockingOptions.self).filter { $0.name != "help" } }
  }
}
