internal import ArgumentParser
internal import CofferFormats
internal import CofferStorage
internal import CofferTerminal
internal import CofferVault

struct EditCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "edit", abstract: "Edit an item's value, or change its description.",
    discussion: """
      --label, --attribute, --remove-attribute, --expires and --type change only these; --form opens all of them in your editor. \
      Otherwise the editor opens the value, in a file in memory, in a folder that only you can enter. The file is wiped when the \
      editor ends; without a file system in memory the command refuses. VISUAL or EDITOR names the editor. If it fails or is \
      killed nothing is changed, and an unchanged value is not written. A newline that the editor added at the end is dropped if \
      the value had none, unless --exact. The old value's expiry is not kept.
      """)

  @OptionGroup var item: ItemArguments
  @OptionGroup var part: FieldOption
  @Flag(help: "Edit the item's description, not its value.") var form = false
  @Option(help: ArgumentHelp("A new label; '' for none.", valueName: "text")) var label: String?
  @Option(help: ArgumentHelp("An attribute to add or change; may be repeated.", valueName: "name=value")) var attribute:
    [String] = []
  @Option(help: ArgumentHelp("An attribute to remove; may be repeated.", valueName: "name")) var removeAttribute: [String] = []
  @Option(help: ArgumentHelp("When the value expires: 30d, 12h, 2026-12-31, never.", valueName: "when")) var expires: String?
  @Option(help: ArgumentHelp("The value's media type; '' for none.", valueName: "type")) var type: String?
  @Flag(help: "Keep a final newline that the editor added.") var exact = false
  @OptionGroup(title: "History") var past: HistoryOptions
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  var startsPrograms: Bool { true }

  func validate() throws {
    guard !form || !describes else { throw ValidationError("--form opens the whole description: give it alone") }
    guard !exact || (!form && !describes) else { throw ValidationError("--exact applies only to the value") }
  }

  private var describes: Bool { label != nil || !attribute.isEmpty || !removeAttribute.isEmpty || expires != nil || type != nil }

  func perform(_ context: Context) throws {
    let given = try expires.map { try Expiry($0) }
    let attributes = try Attributes.parse(attribute)
    let items = try context.items()
    let meant = item.isNamed || part.field != nil ? try item.words.item(in: items) : try items.pick("edit", context)
    guard let found = try meant.map({ try part.item(in: $0, items) }) else { return }
    if form { return try describe(found, as: DescriptionForm.edit(found, context), items, context) }
    guard !describes else { return try describe(found, as: described(found, given, attributes), items, context) }
    try editValue(found, items, context)
  }

  private func described(_ found: VaultItem, _ expiry: Expiry?, _ attributes: [String: String]) throws -> ItemMetadata {
    var metadata = found.metadata
    if let label { metadata.label = label }
    if let type { metadata.contentType = type }
    switch expiry {
    case .at(let date): metadata.expires = date
    case .never: metadata.expires = nil
    case .keep, nil: break
    }
    for name in removeAttribute {
      try Attributes.checkFree(name)
      guard metadata.attributes.removeValue(forKey: name) != nil else {
        throw StoreError(.notFound, "the item has no attribute of that name", key: name, cure: "coffer show lists its attributes")
      }
    }
    Attributes.merge(attributes, into: &metadata.attributes)
    return metadata
  }

  private func describe(_ found: VaultItem, as metadata: ItemMetadata, _ items: VaultItems, _ context: Context) throws {
    let keeping = past.keeping(found, context)
    guard metadata != found.metadata || past.isGiven else { return context.note("nothing was changed") }
    let stored = try items.apply([.describe(found.name, as: metadata, if: found.isUnchanged, keeping: keeping)])
    if options.json, let item = stored.first { return try Output.line(JSONText.encode(ItemJSON(item))) }
    context.done("changed the description of '\(found.name)'; its value is unchanged")
  }

  private func editValue(_ found: VaultItem, _ items: VaultItems, _ context: Context) throws {
    let before = try items.value(of: found.name)
    let edited = try Editor.edit(before.bytes, limit: SecretReader.largestValue, places: context.places)
    let value = try trimmed(edited, like: before.bytes)
    guard !value.isEqual(to: before.bytes) else { return context.note("nothing was changed") }
    guard exact || value.count > 0 else {
      throw Failure.usage("the value is empty now", try: "--exact to store an empty value; nothing was stored")
    }
    var metadata = before.metadata
    metadata.expires = nil
    let item = try items.set(
      SecretForm(value, metadata: metadata), for: found.name, if: found.isUnchanged,
      keeping: past.keeping(found, context))
    if before.metadata.expires != nil { context.note("the new value does not expire; coffer edit --expires sets a date") }
    context.doneStoring(item, over: found)
  }

  private func trimmed(_ edited: consuming SecretBytes, like before: borrowing SecretBytes) throws -> SecretBytes {
    let hadNewline = before.withUnsafeBytes { $0.last == 0x0A }
    if exact || hadNewline { return edited }
    return try edited.withoutTrailingNewline(.lineFeed)
  }
}
