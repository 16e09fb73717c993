internal import ArgumentParser
internal import Coffer
internal import CofferDefaults
internal import CofferFormats
internal import CofferPlatform
internal import CofferStorage
internal import CofferTerminal

struct DefaultsDomainsCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "domains", abstract: "List the domains, one per line.",
    discussion: "A domain is a property list in the folder of preferences; 'coffer status --paths' prints the folder.",
    aliases: ["ls"])

  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    let domains = try DefaultsDomain.list(in: context.places.defaults).map(\.name)
    if options.json { return try Output.json(domains) }
    if Output.isTerminal {
      let footer = domains.isEmpty ? "no domains in \(context.places.defaults)" : counted(domains.count, "domain")
      return try Table(columns: [.text("DOMAIN")], rows: domains.map { [Table.Cell($0)] }, footer: footer).show()
    }
    if !domains.isEmpty { try Output.line(domains.map(Printable.line).joined(separator: "\n")) }
  }
}

struct DefaultsFindCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "find", abstract: "Find a word in the names, keys and values of all domains.",
    discussion: "Case is ignored, a part of a word is enough, and values inside collections are searched too.",
    aliases: ["search"])

  @Argument(help: "The text to find.") var word: String
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    guard !word.isEmpty else { throw Failure.usage("the search word is empty", try: "coffer defaults read for everything") }
    let wanted = word.lowercased()
    try context.everyDomain { contents in
      let hits = contents.map { Self.hit($0.name, $0.values, wanted) }.filter { $0.nameMatches || !$0.keys.isEmpty }
      if options.json { try Output.json(hits) }
      guard !hits.isEmpty else {
        throw StoreError(
          .notFound, "no domain, key or value contains the word", key: word, cure: "a shorter word, or coffer defaults domains")
      }
      if !options.json { for hit in hits { try show(hit) } }
    }
  }

  private func show(_ hit: Hit) throws {
    if hit.nameMatches { try Output.line("Found domain '\(Printable.line(hit.domain))'") }
    guard !hit.keys.isEmpty else { return }
    let text = ClassicList.text(.dictionary(hit.keys.mapValues(\.form)))
    try Output.line(
      "Found \(hit.keys.count) keys in domain '\(Printable.line(hit.domain))': "
        + (Output.isTerminal ? Printable.text(text) : text))
  }

  private struct Hit: Encodable {
    let domain: String
    let nameMatches: Bool
    let keys: [String: PlainFormJSON]
  }

  private static func hit(_ domain: String, _ values: [String: PlainForm], _ wanted: String) -> Hit {
    let keys = values.filter { holds($0.key, wanted) || holds($0.value, wanted) }
    return Hit(domain: domain, nameMatches: holds(domain, wanted), keys: keys.mapValues(PlainFormJSON.init))
  }

  private static func holds(_ text: String, _ wanted: String) -> Bool { text.lowercased().contains(wanted) }

  private static func holds(_ form: PlainForm, _ wanted: String) -> Bool {
    switch form {
    case .array(let items): items.contains { holds($0, wanted) }
    case .dictionary(let items): items.contains { holds($0.key, wanted) || holds($0.value, wanted) }
    case .data: false  // Nobody looks for a word in hexadecimal digits.
    default: holds(ClassicList.text(form), wanted)
    }
  }
}
