internal import ArgumentParser
internal import Coffer
internal import CofferFormats
internal import CofferStorage
internal import CofferTerminal
internal import CofferVault

struct VaultSetCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "set", abstract: "Store an item, replacing the one of that name.",
    discussion: """
      The value comes from standard input, --file, --fd, --generate or the prompt. Label and attributes that are not given \
      stay as they were; an expiry belonged to the old value, and stays with --expires keep. The value that is replaced is kept: \
      coffer vault revert brings it back.
      """, aliases: ["add", "insert", "store"])

  @Argument(help: "What the secret opens: a host, a URL, an app's domain.", completion: Completions.services) var service: String
  @Argument(help: "Whose it is; may be left out.", completion: Completions.accounts) var account: String?
  // Here only so that a misplaced secret is refused with its reason, and not quoted by the parser.
  @Argument(help: .hidden) var surplus: [String] = []
  @Option(help: ArgumentHelp("Store a secret field of the item, which is there, beside its value.", valueName: "name"))
  var field: String?
  @Option(help: ArgumentHelp("A name for people.", valueName: "text")) var label: String?
  @Option(help: ArgumentHelp("An attribute to find the item by; may be repeated.", valueName: "name=value"))
  var attribute: [String] = []
  @Option(help: ArgumentHelp("When the value stops being handed out: 30d, 12h, 2026-12-31, never, keep.", valueName: "when"))
  var expires: String?
  @Option(help: ArgumentHelp("The value's media type, as text/plain.", valueName: "type")) var type: String = ""
  @Flag(help: "Only if there is no such item.") var create = false
  @Option(help: ArgumentHelp("Only if the item is at this revision, as coffer vault show tells it.", valueName: "number"))
  var ifRevision: UInt64?
  @OptionGroup(title: "History") var past: HistoryOptions
  @OptionGroup(title: "Where the value comes from") var source: ValueOptions
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func validate() throws {
    guard create, ifRevision != nil else { return }
    throw ValidationError("--create asks for no item, and --if-revision for one: give one of them")
  }

  func perform(_ context: Context) throws {
    guard surplus.isEmpty else { throw SecretArguments.refusal("a value") }
    let words = ItemWords(service: service, account: account)
    let written = try words.name()
    let expiry = try expires.map { try Expiry($0) }
    var metadata = ItemMetadata(
      label: label ?? "", contentType: type, attributes: try Attributes.parse(attribute), expires: expiry?.date)
    try NewName.check(written)
    try FieldName.check(field)
    try MediaType.check(type)
    try source.claimInput(context)
    let items = try context.items()
    // An existing item is found as in other commands: nobody could tell two items of one spelling apart.
    let name = try field.map { try words.item(in: items).name.field(named: $0) } ?? words.whole(in: items)?.name ?? written
    let old = try items.item(name)
    if create, old != nil {
      throw StoreError(
        .alreadyExists, "there is such an item already", key: name.description, cure: "leave --create out to replace it")
    }
    if !metadata.attributes.isEmpty, var kept = old?.metadata.attributes {
      Attributes.merge(metadata.attributes, into: &kept)
      metadata.attributes = kept
    }
    if expiry == .keep { metadata.expires = old?.metadata.expires }
    let value = try source.read("value of \(name)", context)
    let item = try items.set(
      SecretForm(value, metadata: metadata), for: name, if: condition, keeping: past.keeping(old, context))
    tell(old, item, context)
    if options.json { try Output.line(JSONText.encode(ItemJSON(item))) }
  }

  private func tell(_ old: VaultItem?, _ item: VaultItem, _ context: Context) {
    guard let old else { return context.done("stored '\(item.name)'") }
    if old.metadata.expires != nil, expires == nil {
      context.note("the new value does not expire; --expires says when it does, and --expires keep leaves the date")
    }
    if label == "", !item.metadata.label.isEmpty {
      context.note("the label stays as it was; coffer vault edit --label '' clears it")
    }
    context.done(
      item.history > 0
        ? "replaced '\(item.name)'; \(CommandText.vault("revert", item.name, String(old.revision))) brings the former value back"
        : "replaced '\(item.name)'; the former value is gone")
  }

  private var condition: WriteCondition {
    if create { return .absent }
    return ifRevision.map(WriteCondition.revision) ?? .always
  }
}
