internal import ArgumentParser
internal import Coffer

struct VaultSet: Command {
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
  @OptionGroup var output: JSONOption
  @OptionGroup var common: CommonOptions
  var wantsJSON: Bool { output.json }

  func validate() throws {
    guard create, ifRevision != nil else { return }
    throw ValidationError("--create asks for no item, and --if-revision for one: give one of them")
  }

  func perform(_ session: Session) throws {
    guard surplus.isEmpty else { throw SecretArguments.refusal("a value") }
    let name = try ItemName(service: service, account: account)
    let metadata = ItemMetadata(
      label: label, contentType: type, attributes: try Attributes.parse(attribute),
      expires: try expires.map { try Expiry.parse($0) })
    try CredentialSources(options: unlocking, session: session).claimInput()
    try source.claimInput(session)
    let items = try session.items(unlocking)
    if create, try items.item(name) != nil {
      throw StoreError(
        .alreadyExists, "there is such an item already", key: name.description, cure: "leave --create out to replace it")
    }
    let value = try source.read("value of \(name)", session)
    let item = try items.set(SecretForm(value, metadata: metadata), for: name, if: condition)
    if output.json { try Output.line(JSONText.encode(ItemJSON(item))) }
  }

  private var condition: WriteCondition {
    if create { return .absent }
    return ifRevision.map(WriteCondition.revision) ?? .always
  }
}
