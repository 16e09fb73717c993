internal import ArgumentParser
internal import Coffer

struct DefaultsRead: Command {
  static let configuration = CommandConfiguration(
    commandName: "read", _superCommandName: "coffer defaults", abstract: "Print a preference, a domain, or all domains.",
    discussion: """
      As on macOS: a single value bare, true and false as 1 and 0, collections in the old property-list notation. \
      Text is UTF-8 and data is printed whole, which macOS would abbreviate. For programs there are --json and 'export'.
      """)

  @Argument(help: "The domain; all of them when left out.", completion: Completions.domains) var domain: String?
  @Argument(help: "The key; the whole domain when left out.", completion: Completions.keys) var key: String?
  @OptionGroup var output: JSONOption
  @OptionGroup var common: CommonOptions
  var wantsJSON: Bool { output.json }

  func perform(_ session: Session) throws {
    guard let domain else {
      return try session.everyDomain { contents in
        let all = contents.map { ($0.name, PlainForm.dictionary($0.values)) }
        try show(.dictionary(Dictionary(uniqueKeysWithValues: all)))
      }
    }
    guard let key else { return try show(.dictionary(session.existingDomain(domain).contents())) }
    try show(session.value(of: key, in: domain))
  }

  private func show(_ form: PlainForm) throws {
    guard !output.json else { return try Output.line(JSONText.encode(PlainJSON(form: form))) }
    let text = ClassicList.text(form)
    try Output.line(Output.isTerminal ? Printable.text(text) : text)
  }
}
