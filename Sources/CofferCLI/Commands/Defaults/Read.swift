internal import ArgumentParser
internal import CofferDefaults
internal import CofferFormats
internal import CofferStorage
internal import CofferTerminal

struct DefaultsReadCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "read", abstract: "Print a preference, a domain, or all domains.",
    discussion: """
      As on macOS, a single value is bare, true and false are 1 and 0, collections are in the old property-list notation. Text \
      is UTF-8; data is printed whole, which macOS would abbreviate. Programs should use --json or 'export'.
      """)

  @Argument(help: "The domain; all if omitted.", completion: Completions.domains) var domain: String?
  @Argument(help: "The key; the whole domain if omitted.", completion: Completions.keys) var key: String?
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    guard let domain else {
      return try context.everyDomain { contents in
        let all = contents.map { ($0.name, PlainForm.dictionary($0.values)) }
        try show(.dictionary(Dictionary(uniqueKeysWithValues: all)))
      }
    }
    guard let key else { return try show(.dictionary(context.existingDomain(domain).contents())) }
    try show(context.value(of: key, in: domain))
  }

  private func show(_ form: PlainForm) throws {
    guard !options.json else { return try Output.json(PlainFormJSON(form)) }
    let text = ClassicList.text(form)
    try Output.line(Output.isTerminal ? Printable.text(text) : text)
  }
}

struct DefaultsReadTypeCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "read-type", abstract: "Print the type of a preference.",
    discussion: "One of string, integer, float, boolean, date, data, array and dictionary.")

  @Argument(help: "The domain.", completion: Completions.domains) var domain: String
  @Argument(help: "The key.", completion: Completions.keys) var key: String
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    let type = try context.value(of: key, in: domain).typeWord
    try Output.line(options.json ? JSONText.encode(["domain": domain, "key": key, "type": type]) : "Type is \(type)")
  }
}

extension PlainForm {
  /// The type in the words of `defaults`, which are also its flags.
  var typeWord: String { if case .real = self { "float" } else { kindName } }
}
