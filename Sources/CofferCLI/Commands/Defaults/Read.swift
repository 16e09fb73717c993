internal import ArgumentParser
internal import Coffer
internal import CofferDefaults
internal import CofferStorage
internal import SystemPackage

struct DefaultsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "defaults", abstract: "The plain store: preferences in property lists, in the spelling of macOS.",
    discussion: """
      Nothing here touches the vault, and nothing here is secret. Reading leaves no trace; a command that fails has changed \
      nothing. There is no global domain (-g, NSGlobalDomain) on Linux: it is refused, not made up.
      """,
    subcommands: [
      DefaultsRead.self, DefaultsReadType.self, DefaultsWrite.self, DefaultsDelete.self, DefaultsRename.self,
      DefaultsDomains.self, DefaultsFind.self, DefaultsExport.self, DefaultsImport.self, DefaultsWatch.self,
      DefaultsExplain.self,
    ])
}

struct DefaultsRead: Command {
  static let configuration = CommandConfiguration(
    commandName: "read", _superCommandName: "coffer defaults", abstract: "Print a preference, a domain, or all domains.",
    discussion: """
      As on macOS: a single value bare, true and false as 1 and 0, collections in the old property-list notation. \
      Text is UTF-8 and data is printed whole, which macOS would abbreviate. For programs there are --json and 'export'.
      """)

  @Argument(help: "The domain; all of them when left out.", completion: Completions.domains) var domain: String?
  @Argument(help: "The key; the whole domain when left out.", completion: Completions.keys) var key: String?
  @OptionGroup var options: AnswerOptions

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
    guard !options.json else { return try Output.line(JSONText.encode(PlainJSON(form: form))) }
    let text = ClassicList.text(form)
    try Output.line(Output.isTerminal ? Printable.text(text) : text)
  }
}

struct DefaultsReadType: Command {
  static let configuration = CommandConfiguration(
    commandName: "read-type", abstract: "Print the type of a preference.",
    discussion: "One of string, integer, float, boolean, date, data, array and dictionary.")

  @Argument(help: "The domain.", completion: Completions.domains) var domain: String
  @Argument(help: "The key.", completion: Completions.keys) var key: String
  @OptionGroup var options: AnswerOptions

  func perform(_ session: Session) throws {
    let type = try session.value(of: key, in: domain).typeWord
    try Output.line(options.json ? JSONText.encode(Answer(domain: domain, key: key, type: type)) : "Type is \(type)")
  }

  private struct Answer: Encodable { let domain: String, key: String, type: String }
}

extension PlainForm {
  /// The type in the words of `defaults`, which are its flags' as well.
  var typeWord: String {
    if case .real = self { "float" } else { kindName }
  }
}

struct DefaultsDomains: Command {
  static let configuration = CommandConfiguration(
    commandName: "domains", abstract: "List the domains, one a line.",
    discussion: "A domain is a property list in the folder of preferences; 'coffer env' names the folder.", aliases: ["ls"])

  @OptionGroup var options: AnswerOptions

  func perform(_ session: Session) throws {
    let domains = try DefaultsDomain.list(in: session.places.defaults).map(\.name)
    if options.json { return try Output.line(JSONText.encode(domains)) }
    if !domains.isEmpty { try Output.line(domains.map(Printable.line).joined(separator: "\n")) }
  }
}

struct DefaultsFind: Command {
  static let configuration = CommandConfiguration(
    commandName: "find", abstract: "Look for a word in the names, keys and values of all domains.",
    discussion: "Upper and lower case are the same, and a part of a word is enough. Values nested in collections count.",
    aliases: ["search"])

  @Argument(help: "What to look for.") var word: String
  @OptionGroup var options: AnswerOptions

  func perform(_ session: Session) throws {
    guard !word.isEmpty else { throw Failure.usage("there is no word to look for", try: "coffer defaults read for everything") }
    let wanted = word.lowercased()
    try session.everyDomain { contents in
      let hits = contents.map { Self.hit($0.name, $0.values, wanted) }.filter { $0.nameMatches || !$0.keys.isEmpty }
      if options.json { try Output.line(JSONText.encode(hits)) }
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
    let keys: [String: PlainJSON]
  }

  private static func hit(_ domain: String, _ values: [String: PlainForm], _ wanted: String) -> Hit {
    let keys = values.filter { holds($0.key, wanted) || holds($0.value, wanted) }
    return Hit(domain: domain, nameMatches: holds(domain, wanted), keys: keys.mapValues(PlainJSON.init))
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

struct DefaultsExplain: Command {
  static let configuration = CommandConfiguration(
    commandName: "explain", abstract: "Say where a preference is stored and what type it has, without its value.")

  @Argument(help: "The domain.", completion: Completions.domains) var domain: String
  @Argument(help: "The key.", completion: Completions.keys) var key: String
  @OptionGroup var options: AnswerOptions

  func perform(_ session: Session) throws {
    let explanation = try session.domain(domain).explain(key)
    guard explanation.winner != nil else { throw session.nothing(under: key, in: domain) }
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

extension Session {
  /// A domain to read from: leaves no trace.
  ///
  /// - Throws: `.damaged` when the list is there and is none, with the copy that could take its place.
  func domain(_ name: String) throws(StoreError) -> DefaultsStore {
    do { return try places.openDefaults(name, access: .readOnly) } catch {
      guard case .damaged = error.kind, error.place?.hasSuffix(".plist") == true else { throw error }
      let copy = places.defaults.appending(".\(name).plist.last-good")
      throw StoreError(
        .damaged, error.what, place: error.place,
        cure: FileFacts.exists(copy)
          ? "repair the file, or put \(copy) in its place, which is how coffer last wrote it; nothing was changed"
          : "repair or restore the file; nothing was changed", underlying: error.underlying)
    }
  }

  /// The same for a domain that must be there.
  func existingDomain(_ name: String) throws -> DefaultsStore {
    let store = try domain(name)
    // Values may still be in the journal alone, and a list may be empty.
    guard try FileFacts.exists(store.domain.file) || !store.names().isEmpty else {
      throw StoreError(.notFound, "there is no such domain", key: name, cure: "coffer defaults domains lists them")
    }
    return store
  }

  /// The value of `key`, which must be there.
  func value(of key: String, in domain: String) throws -> PlainForm {
    let store = try self.domain(domain)
    guard let form = try store.load(key) else { throw nothing(under: key, in: domain) }
    return form
  }

  func nothing(under key: String, in domain: String) -> StoreError {
    StoreError(
      .notFound, "nothing is stored in domain '\(domain)'", key: key, cure: "coffer defaults read \(domain) shows what is")
  }

  /// The content of every domain by name. One that cannot be read does not hide the others: its error is thrown once `body`
  /// was called with them.
  func everyDomain(_ body: ([(name: String, values: [String: PlainForm])]) throws -> Void) throws {
    var contents: [(String, [String: PlainForm])] = []
    var failures: [StoreError] = []
    for found in try DefaultsDomain.list(in: places.defaults) {
      do { contents.append((found.name, try domain(found.name).contents())) } catch { failures.append(error) }
    }
    try body(contents)
    for failure in failures.dropFirst() { note(Failure(failure).text) }
    if let failure = failures.first { throw failure }
  }
}
