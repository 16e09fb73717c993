internal import CofferFormats
internal import CofferTerminal

/// What `coffer help` says besides the commands. An installed program has no catalogue beside it, so the text is here as well:
/// each part is a section of a page of the catalogue, letter for letter.
struct HelpTopic {
  let name: String
  /// In a line, without a dot.
  let abstract: String
  let parts: [Part]
  /// Whether the options that open the vault are listed.
  var listsUnlocking = false

  struct Part {
    let page: String
    let section: String
    let text: String
  }

  static let all: [HelpTopic] = [
    HelpTopic(
      name: "environment", abstract: "The environment variables and the place of the vault", parts: [.environment, .place]),
    HelpTopic(name: "offline", abstract: "Reading a vault while its server is away", parts: [.offline]),
    HelpTopic(name: "references", abstract: "coffer://service/account, and where it may stand", parts: [.references]),
    HelpTopic(name: "json", abstract: "Answers and errors for programs", parts: [.json]),
    HelpTopic(
      name: "unlocking", abstract: "Ways to unlock the vault, and who is asked", parts: [.unlocking, .asking],
      listsUnlocking: true),
    HelpTopic(name: "agent", abstract: "The vault unlocked for all your shells", parts: [.settings]),
    HelpTopic(name: "git", abstract: "coffer as the credential helper of git and docker", parts: [.git]),
    HelpTopic(
      name: "credentials", abstract: "coffer answers aws, kubectl, ssh, cargo, pip and uv",
      parts: CredentialsTopic.parts),
    HelpTopic(name: "scripting", abstract: "What a script can rely on", parts: [.contract, .declared, .spellings]),
    HelpTopic(name: "terminal", abstract: "What a person sees, and the variables that change it", parts: [.terminal]),
    HelpTopic(name: "finding", abstract: "How an item is named, and found", parts: [.names, .finding]),
    HelpTopic(name: "history", abstract: "Previous versions and deleted items, and how to bring them back", parts: [.history]),
    HelpTopic(name: "importing", abstract: "From and to other programs and vaults", parts: [.importing]),
    HelpTopic(name: "exit-codes", abstract: "What each exit status means", parts: []),
  ]

  static func named(_ name: String) -> HelpTopic? { all.first { $0.name == name } }

  /// The topic that `word` probably means: by its name, or by a word of its titles.
  static func nearest(to word: String) -> HelpTopic? {
    if let name = LikelyNames.near(word, among: all.map(\.name)).first { return named(name) }
    guard word.count > 3 else { return nil }
    return all.first { topic in
      ([topic.abstract] + topic.parts.map(\.section)).contains { title in
        title.lowercased().split(whereSeparator: { !$0.isLetter }).contains(word.lowercased()[...])
      }
    }
  }

  /// - Throws: if the parser's own description of the options cannot be read.
  func blocks() throws -> [HelpMarkup] {
    guard !parts.isEmpty else {
      return [.title("Exit status"), .table(ExitStatus.allCases.map { ("\($0.rawValue)", $0.meaning) })]
    }
    let text = parts.flatMap { [.title($0.section)] + HelpMarkup.blocks(of: $0.text) }
    return try text + (listsUnlocking ? [.title("Options"), .table(Self.unlocking.map { ($0.marked, $0.text) })] : [])
  }

  /// The options of every command that opens the vault.
  static var unlocking: [ArgumentDefinition] {
    get throws { try ArgumentDefinition.all(of: UnlockingOptions.self).filter { $0.name != "help" } }
  }
}
