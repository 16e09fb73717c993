internal import ArgumentParser
internal import Coffer
internal import CofferStorage
internal import CofferVault

struct VaultSetCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "set", abstract: "Store an item, replacing the one of that name.",
    discussion: """
      The value comes from standard input, --file, --fd, --generate or the prompt. Label and attributes that are not given \
      stay as they were.
      """, aliases: ["add", "insert", "store"])

  @Argument(help: "What the secret opens: a host, a URL, an app's domain.", completion: Completions.services) var service: String
  @Argument(help: "Whose it is; may be left out.", completion: Completions.accounts) var account: String = ""
  // Here only so that a secret in the wrong place is refused with its reason, and not quoted by the parser.
  @Argument(help: .hidden) var surplus: [String] = []
  @Option(help: ArgumentHelp("A name for people.", valueName: "text")) var label: String = ""
  @Option(help: ArgumentHelp("An attribute to find the item by; may be repeated.", valueName: "name=value"))
  var attribute: [String] = []
  @Option(help: ArgumentHelp("When the value stops being handed out: 30d, 12h, 2026-12-31.", valueName: "when"))
  var expires: String?
  @Option(help: ArgumentHelp("The value's media type, as text/plain.", valueName: "type")) var type: String = ""
  @Flag(help: "Only if there is no such item.") var create = false
  @Option(help: ArgumentHelp("Only if the item is at this revision, as coffer vault show tells it.", valueName: "number"))
  var ifRevision: UInt64?
  @OptionGroup(title: "Where the value comes from") var source: ValueOptions
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func validate() throws {
    guard create, ifRevision != nil else { return }
    throw ValidationError("--create asks for no item, and --if-revision for one: give one of them")
  }

  func perform(_ context: Context) throws {
    guard surplus.isEmpty else { throw SecretArguments.refusal("a value") }
    let name = try ItemName(service: service, account: account)
    try MediaType.check(type)
    let metadata = ItemMetadata(
      label: label, contentType: type, attributes: try Attributes.parse(attribute),
      expires: try expires.map { try Expiry.parse($0) })
    try source.claimInput(context)
    let items = try context.items()
    if create, try items.item(name) != nil {
      throw StoreError(
        .alreadyExists, "there is such an item already", key: name.description, cure: "leave --create out to replace it")
    }
    let value = try source.read("value of \(name)", context)
    let item = try items.set(SecretForm(value, metadata: metadata), for: name, if: condition)
    if options.json { try Output.line(JSONText.encode(ItemJSON(item))) }
  }

  private var condition: WriteCondition {
    if create { return .absent }
    return ifRevision.map(WriteCondition.revision) ?? .always
  }
}

struct VaultGetCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "get", abstract: "Print the value of an item.",
    discussion: """
      Exactly the stored bytes go to a pipe; only a terminal gets a newline after them. For example: \
      coffer vault get github.com ada --clip copies the value for 45 seconds.
      """, aliases: ["cat", "read"])

  @OptionGroup var item: ItemArguments
  @Option(
    help: ArgumentHelp("Print this instead of the value: label, type, expires, or an attribute by its name.", valueName: "name"))
  var field: String?
  @OptionGroup(title: "Clipboard") var clipboard: ClipboardOptions
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func validate() throws { try clipboard.check(json: options.json) }

  func perform(_ context: Context) throws {
    try item.check()
    let clipboard = try clipboard.open()
    let items = try context.itemsToRead()
    if field == nil, !options.json {
      let value = try item.value(in: items)
      guard let clipboard else { return try show(value) }
      return try clipboard.copy(value.bytes, "the value of \(item.description)", context)
    }
    let found = try item.item(in: items)
    if let field { return try show(field, of: ItemJSON(found), clipboard, context) }
    try JSONText.write(JSONText.encode(ItemJSON(found)), "value", items.value(of: found.name).bytes)
  }

  private func show(_ secret: SecretForm) throws {
    try Output.write(secret.bytes)
    if Output.isTerminal { try Output.write("\n") }
  }

  private func show(_ field: String, of item: ItemJSON, _ clipboard: Clipboard?, _ context: Context) throws {
    guard let value = item.fields.first(where: { $0.0 == field })?.1, !value.isEmpty else {
      throw StoreError(
        .notFound, "the item has no field of that name", key: field, cure: "coffer vault show \(item.service) lists its fields")
    }
    if options.json { return try Output.line(JSONText.encode([field: value])) }
    if let clipboard { return try clipboard.copy(value, "'\(field)' of \(self.item.description)", context) }
    try Output.write(value + (Output.isTerminal ? "\n" : ""))
  }
}

struct VaultShowCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Print everything about an item but its value.")

  @OptionGroup var item: ItemArguments
  @Flag(help: "The value too.") var reveal = false
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    try item.check()
    let items = try context.itemsToRead()
    let found = try item.item(in: items)
    let secret = reveal ? try items.get(found.name) : nil
    let json = ItemJSON(found)
    if options.json {
      guard let secret else { return try Output.line(JSONText.encode(json)) }
      return try JSONText.write(JSONText.encode(json), "value", secret.bytes)
    }
    try Output.line(Columns.align(json.fields.filter { !$0.1.isEmpty }.map { [$0.0, $0.1] }))
    guard let secret else { return }
    try Output.write("value     ")
    try Output.write(secret.bytes)
    try Output.write("\n")
  }
}

/// Store, print and show an item, and its one-time code.
enum ItemCommands {
  static let all: [any ParsableCommand.Type] = [
    VaultSetCommand.self, VaultGetCommand.self, VaultShowCommand.self, VaultOneTimeCommand.self,
  ]
}
