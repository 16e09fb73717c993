internal import ArgumentParser
internal import Coffer
internal import CofferStorage

struct DefaultsExplainCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "explain", abstract: "Say where a preference is stored and what type it has, without its value.")

  @Argument(help: "The domain.", completion: Completions.domains) var domain: String
  @Argument(help: "The key.", completion: Completions.keys) var key: String
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    let explanation = try context.domain(domain).explain(key)
    guard explanation.winner != nil else { throw context.nothing(under: key, in: domain) }
    try Output.line(
      options.json ? JSONText.encode(SourcesJSON(domain, key, explanation)) : Printable.text(explanation.description))
  }
}

/// Where the values of a key come from, in JSON: strongest first, without the values.
struct SourcesJSON: Encodable {
  let domain: String, key: String
  var sources: [Source]
  struct Source: Encodable { let layer: String, place: String, type: String }

  init(_ domain: String, _ key: String, _ explanation: Explanation) {
    self.domain = domain
    self.key = key
    sources = explanation.sources.map { Source(layer: "\($0.layer)", place: $0.place, type: $0.form.typeWord) }
  }
}
