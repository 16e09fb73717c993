internal import ArgumentParser
internal import CofferFormats
internal import CofferStorage
internal import CofferTerminal
internal import CofferVault
internal import FoundationEssentials

struct GetCommand: HotCommand, TwoStoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "get", abstract: "Print a secret or a preference.",
    discussion: """
      NAME is looked up as a preference of the domain, then in the vault: as a secret of the domain, and as an item. A \
      preference needs no vault. A pipe gets exactly the stored bytes; a terminal also gets a newline. Without NAME a terminal \
      shows a list that narrows as you type: Enter copies the value, Ctrl-O the one-time code, Ctrl-U the user name.
      """, aliases: ["cat", "read"])

  @OptionGroup var item: ItemArguments
  @Option(
    help: ArgumentHelp(
      "Print this instead: label, type, expires, or the secret field or attribute of that name.",
      valueName: "name"), completion: Completions.fields)
  var field: String?
  @Option(help: ArgumentHelp("Print this attribute, even if a field has its name.", valueName: "name")) var attribute: String?
  @Option(help: ArgumentHelp("The value at this revision (see 'coffer history').", valueName: "number")) var revision: UInt64?
  @Flag(help: "Also print a key that programs use and never read; asks for a secret of the vault.") var reveal = false
  @OptionGroup var clipboard: ClipboardOptions
  @OptionGroup var store: StoreChoice
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func validate() throws {
    try clipboard.check(json: options.json)
    guard field == nil || attribute == nil else { throw ValidationError("give --field or --attribute, not both") }
    guard attribute == nil || revision == nil else {
      throw ValidationError("--attribute reads only the current version; 'coffer history --json' shows the previous ones")
    }
  }

  private var isAboutItem: Bool { field != nil || attribute != nil || revision != nil }

  func perform(_ context: Context) throws {
    if !item.isNamed, !isAboutItem, store.domain == nil { return try copyPicked(context) }
    let words = try item.words
    if !words.isExact, Reference.isMeant(by: words.service) { return try show(reference: words, context) }
    try words.check()
    let key = try store.key(item, context)
    let clipboard = try clipboard.open()
    if let key, !isAboutItem, let form = try key.preference() { return try show(form, key, clipboard, context) }
    try key.inVaults(context, revealing: reveal, having: words) { items in
      if let revision { return try show(revision, words, key, items, clipboard, context) }
      guard isAboutItem || options.json else {
        guard let clipboard else {
          let value = try key.value(or: words, in: items)
          if value.bytes.count == 0 { try items.checkHasValue(key.item(or: words, in: items)) }
          return try Output.value(value.bytes)
        }
        let found = try key.item(or: words, in: items), isKey = try found.name == key?.item
        try items.checkHasValue(found)
        let what = isKey ? "the value of \(found.name)" : found.valueTitle
        return try clipboard.copy(items.value(of: found.name).bytes, what, context)
      }
      try show(key.item(or: words, in: items), words, key, items, clipboard, context)
    }
  }

  private func copyPicked(_ context: Context) throws {
    let items = try context.itemsToRead()
    var copying = clipboard
    copying.clip = true
    let target = try items.canAsk ? copying.open() : nil
    guard let found = try items.pick("copy", with: clipboard, context) else { return }
    try items.checkHasValue(found)
    try target?.copy(items.value(of: found.name).bytes, found.valueTitle, context)
  }

  private func show(
    _ found: VaultItem, _ words: ItemWords, _ key: DomainKey?, _ items: VaultItems, _ clipboard: Clipboard?, _ context: Context
  ) throws {
    if let attribute {
      guard let value = found.metadata.attributes[attribute] else { throw StoreError.noField(attribute, of: found.name) }
      return try show(value, attribute, words, clipboard, context)
    }
    guard let field else {
      let value = try items.value(of: found.name)
      if let key, try found.name == key.item {
        let answer = Answer(domain: key.router.domain, key: key.name, store: "vault", type: value.metadata.contentType)
        return try JSONText.write(JSONText.encode(answer), "value", value.bytes)
      }
      let json = ItemJSON(found, fields: try items.fields(of: found.name).map(\.name.field))
      return try JSONText.write(JSONText.encode(json), "value", value.bytes)
    }
    switch try ItemPart(field, of: found, in: items) {
    case .text(let text): try show(text, field, words, clipboard, context)
    case .secret(let secret):
      guard options.json else { return try show(secret, "'\(field)' of \(words.description)", clipboard, context) }
      try JSONText.write("{}", field, secret.bytes)
    }
  }

  private func show(reference words: ItemWords, _ context: Context) throws {
    guard words.account == nil, !isAboutItem, !options.json, store.domain == nil else {
      throw Failure.usage("a reference is complete by itself", try: "coffer get \(words.service)")
    }
    let reference = try Reference(words.service)
    let clipboard = try clipboard.open()
    try show(References([reference], context)[reference], reference.description, clipboard, context)
  }

  private func show(
    _ revision: UInt64, _ words: ItemWords, _ key: DomainKey?, _ items: VaultItems, _ clipboard: Clipboard?, _ context: Context
  ) throws {
    let found = try key.knownName(or: words, in: items)
    let name = try field.map { try found.field(named: FieldName.secret($0)) } ?? found
    let value = try items.value(of: name, revision: revision)
    guard options.json else { return try show(value, "revision \(revision) of \(name)", clipboard, context) }
    guard let known = try items.revisions(of: name).first(where: { $0.item.revision == revision }) else {
      throw StoreError(.conflict, "the item was changed just now", key: name.description, cure: "try again")
    }
    try JSONText.write(JSONText.encode(ItemJSON(known.item)), "value", value.bytes)
  }

  private func show(_ form: PlainForm, _ key: DomainKey, _ clipboard: Clipboard?, _ context: Context) throws {
    if options.json {
      let value = PlainFormJSON(form)
      return try Output.line(
        JSONText.encode(Answer(domain: key.router.domain, key: key.name, store: "defaults", type: form.typeWord, value: value)))
    }
    if let clipboard { return try clipboard.copy(PlainText.text(form), "'\(key.name)'", context) }
    if case .data(let data) = form { return try data.bytes.withUnsafeBytes { (raw) throws(Failure) in try Output.value(raw) } }
    try Output.value(PlainText.text(form))
  }

  private func show(_ secret: SecretForm, _ what: String, _ clipboard: Clipboard?, _ context: Context) throws {
    if let clipboard { return try clipboard.copy(secret.bytes, what, context) }
    try Output.value(secret.bytes)
  }

  private func show(_ value: String, _ field: String, _ words: ItemWords, _ clipboard: Clipboard?, _ context: Context) throws {
    if options.json { return try Output.line(JSONText.encode([field: value])) }
    if let clipboard { return try clipboard.copy(value, "'\(field)' of \(words.description)", context) }
    try Output.value(value)
  }

  private struct Answer: Encodable {
    let domain: String, key: String, store: String, type: String
    var value: PlainFormJSON?
  }

  mutating func take(_ line: inout HotLine) -> Bool {
    guard let item = line.item() else { return false }
    (self.item, store, clipboard) = (item, line.store(), ClipboardOptions.none)
    (field, attribute, revision, reveal) = (line.value("--field"), nil, nil, false)
    (unlocking, options) = (line.unlockingOptions(), line.answerOptions())
    return true
  }
}
