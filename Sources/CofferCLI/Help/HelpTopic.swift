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
    HelpTopic(name: "environment", abstract: "The variables that are looked at", parts: [.environment, .place]),
    HelpTopic(name: "offline", abstract: "Reading a vault while its server is away", parts: [.offline]),
    HelpTopic(name: "references", abstract: "coffer://service/account, and where it may stand", parts: [.references]),
    HelpTopic(name: "json", abstract: "Answers and errors for programs", parts: [.json]),
    HelpTopic(
      name: "unlocking", abstract: "What opens the vault, and who is asked", parts: [.unlocking, .asking], listsUnlocking: true),
    HelpTopic(name: "agent", abstract: "The vault unlocked for all your shells", parts: [.settings]),
    HelpTopic(name: "git", abstract: "coffer as the credential helper of git and docker", parts: [.git]),
    HelpTopic(
      name: "credentials", abstract: "coffer answers aws, kubectl, ssh, cargo, pip and uv",
      parts: CredentialsTopic.parts),
    HelpTopic(name: "scripting", abstract: "What a script can rely on", parts: [.contract, .declared, .spellings]),
    HelpTopic(name: "terminal", abstract: "What a person sees, and the variables that change it", parts: [.terminal]),
    HelpTopic(name: "finding", abstract: "How an item is named, and looked for", parts: [.finding]),
    HelpTopic(name: "history", abstract: "Former and deleted contents, and how to bring them back", parts: [.history]),
    HelpTopic(name: "importing", abstract: "From and to other programs and vaults", parts: [.importing]),
    HelpTopic(name: "exit-codes", abstract: "What each exit status means", parts: []),
  ]

  static func named(_ name: String) -> HelpTopic? { all.first { $0.name == name } }

  /// - Parameter display: the reader.
  /// - Throws: if the parser's own description of the options cannot be read.
  func text(for display: Display) throws -> String {
    guard !parts.isEmpty else { return Self.exitCodes(display) }
    var sections = parts.map { part in
      (part.section, part.blocks.map { $0.text(for: display) }.joined(separator: "\n\n"))
    }
    if listsUnlocking {
      let options = try Self.unlocking.map { ($0.label, $0.text) }
      sections.append(("Options", TextWidth.definitions(options, to: TextWidth.of(display))))
    }
    return sections.map { Style.bold.text($0.0.uppercased() + ":", display) + "\n" + $0.1 }.joined(separator: "\n\n")
  }

  /// The options of every command that opens the vault.
  static var unlocking: [ArgumentDefinition] {
    get throws { try ArgumentDefinition.all(of: UnlockingOptions.self).filter { $0.name != "help" } }
  }

  private static func exitCodes(_ display: Display) -> String {
    "Every exit status of coffer has one meaning.\n\n"
      + ExitStatus.allCases.map { status in
        let code = String(status.rawValue)
        let meaning = TextWidth.wrap(status.meaning, to: TextWidth.of(display) - 7)
        return TextWidth.blanks(5 - code.count) + code + "  " + meaning.replacing("\n", with: "\n" + TextWidth.blanks(7))
      }.joined(separator: "\n")
  }
}

extension HelpTopic.Part {
  var blocks: [HelpMarkup] { HelpMarkup.blocks(of: text) }
}
