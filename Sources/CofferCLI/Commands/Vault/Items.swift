internal import ArgumentParser
internal import Coffer
internal import CofferStorage
internal import CofferTerminal
internal import CofferVault

struct VaultGetCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "get", abstract: "Print the value of an item.",
    discussion: """
      Exactly the stored bytes go to a pipe; only a terminal gets a newline after them. The item \
      may be given as coffer://service/account, or its field as coffer://service/account/field.
      """, aliases: ["cat", "read"])

  // Without the groups of other commands: see ClipboardOptions.
  @Argument(help: .service, completion: Completions.services) var service: String
  @Argument(help: .account, completion: Completions.accounts) var account: String?
  @Option(
    help: ArgumentHelp(
      "Print this instead of the value: label, type, expires; else the secret field or the attribute of that name.",
      valueName: "name"), completion: Completions.fields)
  var field: String?
  @Option(help: ArgumentHelp("Print the attribute of this name, whatever else has it.", valueName: "name")) var attribute: String?
  @Option(help: ArgumentHelp("What the item was at this revision, as coffer vault history lists them.", valueName: "number"))
  var revision: UInt64?
  @Flag(name: .clip, help: .clip) var clip = false
  @Option(help: .clearAfter) var clearAfter: UInt64?
  @Option(help: .clipboard, completion: .clipboard) var clipboard: String?
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  private var item: ItemWords { ItemWords(service: service, account: account) }
  private var choice: ClipboardChoice { ClipboardChoice(clip: clip, clearAfter: clearAfter, tool: clipboard) }

  func validate() throws {
    try choice.check(json: options.json)
    guard field == nil || attribute == nil else { throw ValidationError("give --field or --attribute, not both") }
    guard attribute == nil || revision == nil else {
      throw ValidationError("--attribute is about the present item; coffer vault history --json has the former ones")
    }
  }

  func perform(_ context: Context) throws {
    guard !Reference.isMeant(by: item.service) else { return try showReferred(context) }
    try item.check()
    let clipboard = try choice.open()
    let items = try context.itemsToRead()
    if let revision { return try show(revision, items, clipboard, context) }
    if field == nil, attribute == nil, !options.json {
      return try show(item.value(in: items), "the value of \(item.description)", clipboard, context)
    }
    let found = try item.item(in: items)
    if let attribute {
      guard let value = found.metadata.attributes[attribute] else { throw StoreError.noField(attribute, of: found.name) }
      return try show(value, attribute, clipboard, context)
    }
    guard let field else {
      let json = ItemJSON(found, fields: try items.fields(of: found.name).map(\.name.field))
      return try JSONText.write(JSONText.encode(json), "value", items.value(of: found.name).bytes)
    }
    switch try ItemPart(field, of: found, in: items) {
    case .text(let text): try show(text, field, clipboard, context)
    case .secret(let secret):
      guard options.json else { return try show(secret, "'\(field)' of \(item.description)", clipboard, context) }
      try JSONText.write("{}", field, secret.bytes)
    }
  }

  private func showReferred(_ context: Context) throws {
    guard item.account == nil, field == nil, attribute == nil, revision == nil, !options.json else {
      throw Failure.usage("a reference says all by itself", try: "coffer vault get \(item.service)")
    }
    let reference = try Reference(item.service)
    let clipboard = try choice.open()
    try show(References([reference], context)[reference], reference.description, clipboard, context)
  }

  private func show(_ revision: UInt64, _ items: VaultItems, _ clipboard: Clipboard?, _ context: Context) throws {
    let found = try item.knownName(in: items)
    let name = try field.map { try found.field(named: FieldName.secret($0)) } ?? found
    let value = try items.value(of: name, revision: revision)
    guard options.json else { return try show(value, "revision \(revision) of \(name)", clipboard, context) }
    guard let known = try items.revisions(of: name).first(where: { $0.item.revision == revision }) else {
      throw StoreError(.conflict, "the item was changed just now", key: name.description, cure: "look again")
    }
    try JSONText.write(JSONText.encode(ItemJSON(known.item)), "value", value.bytes)
  }

  private func show(_ secret: SecretForm, _ what: String, _ clipboard: Clipboard?, _ context: Context) throws {
    if let clipboard { return try clipboard.copy(secret.bytes, what, context) }
    try Output.value(secret.bytes)
  }

  private func show(_ value: String, _ field: String, _ clipboard: Clipboard?, _ context: Context) throws {
    if options.json { return try Output.line(JSONText.encode([field: value])) }
    if let clipboard { return try clipboard.copy(value, "'\(field)' of \(item.description)", context) }
    try Output.value(value)
  }
}

struct VaultShowCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Print everything about an item but its value.",
    discussion: """
      Secret fields are listed by name; --field shows one as an item of its own.
      """)

  @OptionGroup var item: ItemArguments
  @OptionGroup var part: FieldOption
  @Flag(help: "The value too.") var reveal = false
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    try item.check()
    let items = try context.itemsToRead()
    let found = try part.item(in: item.item(in: items), items)
    let fields = part.field == nil ? try items.fields(of: found.name).map(\.name.field) : nil
    let secret = reveal ? try items.get(found.name) : nil
    let json = ItemJSON(found, fields: fields)
    if options.json {
      guard let secret else { return try Output.line(JSONText.encode(json)) }
      return try JSONText.write(JSONText.encode(json), "value", secret.bytes)
    }
    let sheet = Output.isTerminal ? ItemSheet(found, fields: fields ?? []) : nil
    let text = sheet?.text(revealing: secret != nil) ?? Columns.align(json.rows)
    guard let secret else { return try Pager.show(text) }
    try Output.line(text)
    try Output.write(sheet?.valueTitle() ?? "value     ")
    try Output.valueLine(secret.bytes)
  }
}

enum ItemCommands {
  static let all: [any ParsableCommand.Type] = [
    VaultSetCommand.self, VaultGetCommand.self, VaultShowCommand.self, VaultOneTimeCommand.self,
  ]
}

extension VaultGetCommand: HotCommand {
  mutating func take(_ line: inout HotLine) -> Bool {
    guard let service = line.word() else { return false }
    (self.service, account, field) = (service, line.word(), line.value("--field"))
    (attribute, revision, clip, clearAfter, clipboard) = (nil, nil, false, nil, nil)
    (unlocking, options) = (line.unlockingOptions(), line.answerOptions())
    return true
  }
}
