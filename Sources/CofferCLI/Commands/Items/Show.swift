internal import ArgumentParser
internal import Coffer
internal import CofferStorage
internal import CofferTerminal
internal import CofferVault

struct ShowCommand: OpeningCommand, TwoStoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Show everything about an item but its value, or where a preference comes from.",
    discussion: """
      Secret fields are listed by name; --field shows one as an item of its own. A preference is shown with the layers that hold \
      it; if the vault holds the same key, both are shown with the two ways to settle it, and the exit status is 65.
      """)

  @OptionGroup var item: ItemArguments
  @OptionGroup var part: FieldOption
  @Flag(help: "The value too.") var reveal = false
  @OptionGroup var store: StoreChoice
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    guard item.isNamed || part.field != nil || store.domain != nil else {
      let items = try context.itemsToRead()
      return try items.pick("show", context).map { try show($0, items) } ?? ()
    }
    let words = try item.words
    try words.check()
    let key = try store.key(item, context)
    if let key, part.field == nil, try explain(key, context) { return }
    try key.inVault(context) { items in try show(part.item(in: key.item(or: words, in: items), items), items) }
  }

  private func show(_ found: VaultItem, _ items: VaultItems) throws {
    let fields = part.field == nil ? try items.fields(of: found.name).map(\.name.field) : nil
    let secret = reveal ? try items.get(found.name) : nil
    let json = ItemJSON(found, fields: fields)
    if options.json {
      guard let secret else { return try Output.line(JSONText.encode(json)) }
      return try JSONText.write(JSONText.encode(json), "value", secret.bytes)
    }
    let sheet = try Output.isTerminal ? ItemSheet(found, fields: fields ?? [], kept: items.revisions(of: found.name).count) : nil
    let text = sheet?.text(revealing: secret != nil) ?? Columns.align(json.rows)
    guard let secret else { return try Pager.show(text) }
    try Output.line(text)
    try Output.write(sheet?.valueTitle() ?? "value     ")
    try Output.valueLine(secret.bytes)
  }

  /// Shows a preference and its layers; false if there is none.
  private func explain(_ key: DomainKey, _ context: Context) throws -> Bool {
    let (router, name) = (key.router, key.name)
    let explanation = try router.plain.explain(name)
    guard explanation.winner != nil else { return false }
    if !options.json { try Output.line(Printable.text(explanation.description)) }
    var answer = SourcesJSON(router.domain, name, explanation)
    let isSecret: Bool
    switch router.lookUp(name) {
    case .there: isSecret = true
    case .absent: isSecret = false
    case .unknown(let error):
      // The answer about a preference does not depend on the vault.
      context.note("whether the vault holds it too is unknown: \(Failure.of(error)?.what ?? "")")
      isSecret = false
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
        'coffer defaults delete \(router.domain) \(name)' keeps the secret, \
        'coffer delete --service \(router.domain) --account \(name)' keeps the preference
        """)
  }
}
