internal import ArgumentParser
internal import CofferDefaults
internal import CofferFormats
internal import CofferStorage
internal import CofferTerminal
internal import SystemPackage

struct DefaultsReadCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "read", abstract: "Print a preference, a domain, or all domains.",
    discussion: """
      As on macOS: a single value bare, true and false as 1 and 0, collections in the old property-list notation. \
      Text is UTF-8 and data is printed whole, which macOS would abbreviate. For programs there are --json and 'export'.
      """)

  @Argument(help: "The domain; all of them when left out.", completion: Completions.domains) var domain: String?
  @Argument(help: "The key; the whole domain when left out.", completion: Completions.keys) var key: String?
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
    guard !options.json else { return try Output.line(JSONText.encode(PlainFormJSON(form))) }
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
    try Output.line(options.json ? JSONText.encode(Answer(domain: domain, key: key, type: type)) : "Type is \(type)")
  }

  private struct Answer: Encodable { let domain: String, key: String, type: String }
}

extension PlainForm {
  /// The type in the words of `defaults`, which are also its flags.
  var typeWord: String {
    if case .real = self { "float" } else { kindName }
  }
}

enum ReadingCommands {
  static let all: [any ParsableCommand.Type] = [DefaultsReadCommand.self, DefaultsReadTypeCommand.self]
}
