/// What `coffer help` says besides the commands. An installed program has no catalogue beside it, so the text is here as well: each
/// part is a section of a page of the catalogue, letter for letter.
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
    HelpTopic(name: "environment", abstract: "The variables that are looked at", parts: [.environment, .place]),
    HelpTopic(name: "references", abstract: "coffer://service/account, and where it may stand", parts: [.references]),
    HelpTopic(name: "json", abstract: "Answers and errors for programs", parts: [.json]),
    HelpTopic(
      name: "unlocking", abstract: "What opens the vault, and who is asked", parts: [.unlocking, .asking], listsUnlocking: true),
    HelpTopic(name: "agent", abstract: "The vault unlocked for all your shells", parts: [.settings]),
    HelpTopic(name: "git", abstract: "coffer as the credential helper of git and docker", parts: [.git]),
    HelpTopic(name: "scripting", abstract: "What a script can rely on", parts: [.contract, .spellings]),
    HelpTopic(name: "exit-codes", abstract: "What each exit status means", parts: []),
  ]

  static func named(_ name: String) -> HelpTopic? { all.first { $0.name == name } }

  /// - Throws: where the parser's own description of the options cannot be read.
  func text(width: Int) throws -> String {
    guard !parts.isEmpty else { return Self.exitCodes }
    var texts: [String] = []
    for part in parts {
      texts.append(part.section.uppercased() + ":")
      texts += part.blocks.map { $0.text(width: width) }
    }
    if listsUnlocking {
      texts.append("OPTIONS:\n" + TextWidth.definitions(try Self.unlocking.map { ($0.label, $0.text) }, to: width))
    }
    return texts.joined(separator: "\n\n").replacing(":\n\n", with: ":\n")
  }

  /// The options of every command that opens the vault.
  static var unlocking: [ArgumentDefinition] {
    get throws { try ArgumentDefinition.all(of: UnlockingOptions.self).filter { $0.name != "help" } }
  }

  private static var exitCodes: String {
    "Every exit status of coffer has one meaning.\n\n"
      + ExitStatus.allCases.map { status in
        let code = String(status.rawValue)
        return String(repeating: " ", count: 5 - code.count) + code + "  " + status.meaning
      }.joined(separator: "\n")
  }
}

extension HelpTopic.Part {
  var blocks: [HelpMarkup] { HelpMarkup.blocks(of: text) }
}
