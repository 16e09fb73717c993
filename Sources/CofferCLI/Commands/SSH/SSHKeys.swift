internal import ArgumentParser
internal import CofferAgent
internal import CofferPlatform
internal import CofferStorage
internal import CofferTerminal
internal import CofferVault

struct SSHNewCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "new", abstract: "Make an Ed25519 key in the vault, and print its public half.",
    discussion: """
      The agent makes the key; no program reads it. Without --for it signs any login and any file. With --for it is used for \
      these alone: a login at HOST or as USER@HOST, a login from one host to another ('HOST>USER@HOST', in quotes), signatures \
      of a namespace (sign:git), certificates (ca), and anything else (other). The host's keys are taken from known_hosts now.
      """)

  @Argument(help: "The new item's name, as for coffer set.") var name: String
  @OptionGroup var rules: KeyRules
  @Option(help: ArgumentHelp("A label.", valueName: "text")) var label: String?
  @OptionGroup var options: CommonOptions

  func perform(_ context: Context) throws {
    let (name, metadata) = (try ItemName(newKey: name), try rules.newKey(label: label))
    try Output.line(context.keyAgent().put(.newKey(name, metadata)))
    metadata.tellUses(context)
  }
}

struct SSHListCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List the keys that programs use and never read.",
    discussion: "In a pipe: name, public line, uses and the time to ask, with tabs between them.")

  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    var query = ItemQuery()
    query.attributes = [ItemQuery.Attribute(ItemMetadata.use, "only")]
    let keys = try context.items().find(query).items()
    if options.json { return try Output.json(keys.map(Row.init)) }
    try Table.show(
      Table(
        columns: [.fixed("NAME"), .text("KEY"), .text("FOR"), .fixed("ASK", rank: 1)],
        rows: keys.map { key in
          let (name, metadata) = (key.name.description, key.metadata)
          return [name, try PublicHalf.fingerprint(of: metadata.publicKey), metadata.uses(", "), metadata.asking].map {
            Table.Cell($0)
          }
        }, footer: counted(keys.count, "key")),
      elsewhere: keys.map { [$0.name.description, $0.metadata.publicKey, $0.metadata.uses(" "), $0.metadata.asking] })
  }

  private struct Row: Encodable {
    let service: String, account: String, `public`: String, fingerprint: String, `for`: [String], hosts: [String], ask: String

    init(_ item: VaultItem) throws {
      (service, account, `public`) = (item.name.service, item.name.account, item.metadata.publicKey)
      (fingerprint, `for`) = (try PublicHalf.fingerprint(of: `public`), item.metadata.rules)
      (hosts, ask) = (item.metadata.hostKeys, item.metadata.asking)
    }
  }
}

struct SSHEditCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "edit", abstract: "Change what a key is for, and when a person is asked.",
    discussion: """
      Needs a secret of its own, even while the agent holds the vault: a program that uses the key cannot change its rules. \
      --for replaces all uses; --for '' permits any login and signature.
      """)

  @Argument(help: .itemName, completion: Completions.names) var name: String
  @OptionGroup var rules: KeyRules
  @Flag(help: "Read the host keys of known_hosts again.") var hosts = false
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: CommonOptions

  func validate() throws {
    guard hosts || !rules.isEmpty else { throw ValidationError("give --for, --ask or --hosts") }
  }

  func perform(_ context: Context) throws {
    let items = try context.ownItems()
    let found = try ItemWords(service: name, account: nil).item(in: items)
    guard found.metadata.isWithheld else {
      throw StoreError(
        .refused, "this item is no key that programs only use", key: found.name.description, cure: "coffer ssh list shows them")
    }
    guard !found.metadata.isAge || rules.uses.isEmpty && !hosts && rules.ask != .forwarded else {
      throw Failure.usage("this identity decrypts files and knows no hosts", try: "--ask never, always or passphrase")
    }
    let metadata = try rules.changed(found.metadata, readingHosts: hosts)
    guard metadata != found.metadata else { return context.note("nothing was changed") }
    try items.apply([.describe(found.name, as: metadata, if: found.isUnchanged, keeping: nil)])
    metadata.tellUses(context)
  }
}

extension ItemName {
  /// That of a new key.
  init(newKey word: String) throws {
    self = try ItemWords(service: word, account: nil).name()
    try NewName.check(self)
  }
}

extension AgentClient {
  /// Has the agent keep a key, and returns its public half.
  func put(_ key: KeyAddition) throws -> String { try ask(Calls.put, key).first ?? "" }
}
