internal import ArgumentParser
internal import Coffer
internal import CofferTerminal
internal import FoundationEssentials

struct InjectCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "inject", abstract: "Fill in the secrets of a template.",
    discussion: """
      {{ coffer://service/account }} becomes that item's value; other double braces stay. All references are read first: if one \
      is missing, expired or locked, nothing is written. A file is replaced in one step, and only its owner can read it.
      """)

  @Option(name: [.long, .customShort("i")], help: ArgumentHelp("The template; otherwise standard input.", valueName: "path"))
  var input: String?
  @Option(name: [.long, .customShort("o")], help: ArgumentHelp("The result; otherwise standard output.", valueName: "path"))
  var output: String?
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  private var isInput: Bool { input == nil || input == "-" }

  func claimInput(_ context: Context) throws { if isInput { try context.input.claim(for: "the template") } }

  func perform(_ context: Context) throws {
    let place = isInput ? "standard input" : input ?? "-"
    let text =
      try isInput
      ? SecretReader.read(0, limit: SecretReader.largestValue, what: "the template", place: place) : fromFile(place)
    let template = try Template(text, place: place)
    let values = try References(template.references, context)
    let result = try template.filled(text, with: values)
    guard let output, output != "-" else { return try Output.value(result) }
    try SecretOutputFile.write(result, to: output)
  }

  /// A template has references and no secrets: other readers do not matter.
  private func fromFile(_ path: String) throws -> SecretBytes {
    let content = try PlainFile.read(path, limit: SecretReader.largestValue)
    return try content.bytes.withUnsafeBytes { try SecretBytes(copying: $0) }
  }
}
