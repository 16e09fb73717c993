internal import ArgumentParser
internal import Coffer
internal import CofferFormats
internal import CofferStorage
internal import CofferTerminal
internal import CofferVault
internal import FoundationEssentials

struct ShowCommand: OpeningCommand, TwoStoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Show an item without its value, or the layers of a preference.",
    discussion: """
      Secret fields are listed by name; --field shows one as an item of its own. --open passes the attribute url, or without \
      one the service, to xdg-open: an http or https URL, or a host name. Other users can see it among the running programs. If \
      the vault holds the key of a preference too, both are shown with the two ways to settle it, and the command exits with 65.
      """)

  @OptionGroup var item: ItemArguments
  @OptionGroup var part: FieldOption
  @Flag(help: "Also show the value and all secret fields; in JSON the value alone.") var reveal = false
  @Flag(name: .customLong("open"), help: "Open the item's page in the browser instead.") var opens = false
  @OptionGroup var store: StoreChoice
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  var startsPrograms: Bool { opens }

  func validate() throws {
    guard !opens || !(reveal || part.field != nil) else { throw ValidationError("--open takes no --reveal and no --field") }
  }

  func perform(_ context: Context) throws {
    guard item.isNamed || part.field != nil || store.domain != nil else {
      let items = try context.itemsToRead()
      return try items.pick(opens ? "open" : "show", context).map { try show($0, items, context) } ?? ()
    }
    let words = try item.words
    try words.check()
    let key = try store.key(item, context)
    if let key, part.field == nil, !opens, try explain(key, context) { return }
    try key.inVault(context) { items in try show(part.item(in: key.item(or: words, in: items), items), items, context) }
  }

  private func show(_ found: VaultItem, _ items: VaultItems, _ context: Context) throws {
    if opens { return try open(found.page(), context) }
    let fields = part.field == nil ? try items.fields(of: found.name) : nil
    let names = fields?.map(\.name.field)
    let value = reveal ? try items.get(found.name) : nil
    let json = ItemJSON(found, fields: names)
    if options.json {
      guard let value else { return try Output.line(JSONText.encode(json)) }
      return try JSONText.write(JSONText.encode(json), "value", value.bytes)
    }
    let isSheet = Output.isTerminal
    let sheet = try isSheet ? ItemSheet(found, fields: names ?? [], kept: items.revisions(of: found.name).count) : nil
    let text = sheet?.text(revealing: reveal) ?? Columns.align(json.rows)
    guard reveal else { return try Pager.show(text) }
    try Output.line(text)
    let titles = [isSheet ? found.valueWord : "value"] + (names ?? []).map(Printable.line)
    let column = isSheet ? TextWidth.column(of: titles, to: Display.output.width, indent: 2) : Self.column
    if let value, !isSheet || value.bytes.count > 0 { try write(value, of: found, titles[0], column: column) }
    // One after the other: an item may have 64 fields of 2 MiB.
    for (field, title) in zip(fields ?? [], titles.dropFirst()) {
      try write(field.hasExpired(at: Date()) ? nil : items.get(field.name), of: field, title, column: column)
    }
    if let sheet { try Output.line(sheet.age()) }
  }

  /// Where the values begin in a pipe, as beside `modified`.
  private static let column = 10

  private func write(_ secret: SecretForm?, of item: VaultItem, _ title: String, column: Int) throws {
    let start = (Output.isTerminal ? "  " : "") + title
    try Output.write(start + TextWidth.blanks(max(column - Cells.count(start), 2)))
    guard let secret else { return try Output.line("expired") }
    let isText = secret.bytes.withUnsafeBytes { UTF8Validity.isValid($0) }
    guard isText || !Output.isTerminal else {
      let field = item.name.field.isEmpty ? "" : " --field \(CommandText.field(item.name.field))"
      return try Output.line("not text; \(CommandText.item("get", item.name.item))\(field) > FILE")
    }
    try Output.valueLine(secret.bytes, hanging: column)
  }

  private func open(_ url: String, _ context: Context) throws {
    do throws(Failure) { try BackgroundProgram.start("xdg-open", url) } catch {
      guard error.status == .commandNotFound else { throw error }
      throw StoreError(.notFound, "xdg-open is not installed", place: url, cure: "install xdg-utils, or open the page yourself")
    }
    context.done("passed \(url) to xdg-open")
  }

  /// `theme · preference of domain coffer`, its value, and the places that have one.
  private func sheet(_ winner: Explanation.Source, _ explanation: Explanation, _ key: DomainKey) -> String {
    let display = Display.output
    let title =
      Style.bold.text(Printable.line(key.name), display) + Sign.between.text(display)
      + Printable.line("preference of domain \(key.router.domain)")
    let value = Printable.line(PlainText.text(winner.form)) + " (\(winner.form.typeWord))"
    let places = explanation.sources.map { ($0.layer == .domain ? "file" : "\($0.layer)", Printable.line($0.place)) }
    return title + "\n" + TextWidth.definitions(fitting: [("value", value)] + places, to: display.width, indent: 2)
  }

  /// Shows a preference and its layers; false if there is none.
  private func explain(_ key: DomainKey, _ context: Context) throws -> Bool {
    let (router, name) = (key.router, key.name)
    let explanation = try router.plain.explain(name)
    guard let winner = explanation.winner else { return false }
    if !options.json {
      try Output.line(Output.isTerminal ? sheet(winner, explanation, key) : Printable.text(explanation.description))
    }
    var answer = SourcesJSON(router.domain, name, explanation)
    var isSecret = false
    switch router.lookUp(name, andItems: !key.isExact) {
    case .there(let isItem):
      isSecret = !isItem
      if isItem { context.note("an item of the vault has this name too; coffer vault show \(CommandText.quoted(name)) shows it") }
    case .absent: break
    case .unknown(let error):
      // The answer about a preference does not depend on the vault.
      context.note("could not check whether the vault holds it too: \(Failure.of(error)?.what ?? "")")
    }
    if isSecret {
      answer.sources.append(.init(layer: "vault", place: context.places.vault.description, type: "secret"))
      if !options.json {
        try Output.line("vault: \(context.places.vault), \(Printable.line("\(router.domain)/\(name)")): a secret")
      }
    }
    if options.json { try Output.line(JSONText.encode(answer)) }
    guard isSecret else { return true }
    throw StoreError(
      .damaged, "the key is both in the property list and in the vault", key: name, place: router.plain.place,
      cure: """
        'coffer defaults delete \(router.domain) \(CommandText.quoted(name))' keeps the secret, \
        'coffer delete --service \(router.domain) --account \(CommandText.quoted(name))' keeps the preference
        """)
  }

  /// Strongest first, without the values.
  private struct SourcesJSON: Encodable {
    let domain: String, key: String
    var sources: [Source]
    struct Source: Encodable { let layer: String, place: String, type: String }

    init(_ domain: String, _ key: String, _ explanation: Explanation) {
      (self.domain, self.key) = (domain, key)
      sources = explanation.sources.map { Source(layer: "\($0.layer)", place: $0.place, type: $0.form.typeWord) }
    }
  }
}

extension VaultItem {
  /// The address for the browser: the attribute `url`, or else the service; a host name, with or without a path, gets `https://`.
  ///
  /// An import may have brought it. Its host has no user before it, which would disguise it, and no byte that programs read in
  /// different ways.
  ///
  /// Source: RFC 3986, sections 2 and 3.2.
  fileprivate func page() throws(StoreError) -> String {
    let text = metadata.attributes["url"] ?? name.service
    let isHost = !ItemWords.hasScheme(text) && text.prefix { $0 != "/" }.contains(".")
    let url = isHost ? "https://\(text)" : text
    guard let start = ["https://", "http://"].first(where: url.lowercased().hasPrefix) else {
      throw fault(.notFound, "the item has no http or https URL")
    }
    let host = url.utf8.dropFirst(start.utf8.count).prefix { !"/?#".utf8.contains($0) }
    // Some browsers take no longer ones.
    guard url.utf8.count <= 2048, url.utf8.allSatisfy(Self.bytes.contains), !host.isEmpty,
      host.allSatisfy(Self.hostBytes.contains)
    else { throw fault(.refused, "the item's URL has a user before its host, or a character that no URL has") }
    // xdg-open looks for a program by the scheme in lower case.
    return start + url.dropFirst(start.count)
  }

  private func fault(_ kind: StoreError.Kind, _ what: String) -> StoreError {
    StoreError(
      kind, what, key: name.description,
      cure: "\(CommandText.item("edit", name)) --attribute url=https://\(Sign.ellipsis.text(.errors)) stores another")
  }

  private static let hostBytes = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._:[]".utf8)
  private static let bytes = hostBytes.union("~/?#@!$&'()*+,;=%".utf8)
}
