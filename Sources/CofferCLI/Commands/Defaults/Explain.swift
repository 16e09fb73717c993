internal import ArgumentParser
internal import CofferStorage
internal import CofferTerminal

struct DefaultsExplainCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "explain", abstract: "Say where a preference is stored and what type it has, without its value.")

  @Argument(help: "The domain.", completion: Completions.domains) var domain: String
  @Argument(help: "The key.", completion: Completions.keys) var key: String
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    let explanation = try context.domain(domain).layers.explain(key)
    guard explanation.winner != nil else { throw context.nothing(under: key, in: domain) }
    try Output.line(
      options.json ? JSONText.encode(SourcesJSON(domain, key, explanation)) : Printable.text(explanation.description))
  }
}
