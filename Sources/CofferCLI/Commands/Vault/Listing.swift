internal import ArgumentParser
internal import Coffer
internal import CofferVault

struct VaultListCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List items; no value is decrypted.", aliases: ["ls"])

  @Argument(help: "Only items of this service.", completion: Completions.services) var service: String?
  @Flag(help: .internalItems) var `internal` = false
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    let items = try context.itemsToRead()
    // Whoever names their service wants them.
    let found = try items.list(service: service)
    try ItemTable.show(found.filter { `internal` || service != nil || !AuthAccounts.isPointer($0) }, json: options.json)
  }
}

struct VaultFindCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "find", abstract: "Find items by text or by attributes; no value is decrypted.",
    discussion: """
      A word looks for that text in service, account, label and attributes, whatever its case. \
      name=value asks for exactly that attribute. Several must all hold.
      """, aliases: ["search"])

  @Argument(help: ArgumentHelp("Text, or name=value.", valueName: "text|name=value")) var terms: [String]
  @Flag(help: .internalItems) var `internal` = false
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    let items = try context.itemsToRead()
    let found = try items.list().filter { item in
      (`internal` || !AuthAccounts.isPointer(item)) && terms.allSatisfy { Self.matches(item, $0) }
    }
    guard !found.isEmpty else {
      throw StoreError(.notFound, "no item matches", cure: "fewer or shorter terms, or coffer vault list")
    }
    try ItemTable.show(found, json: options.json)
  }

  private static func matches(_ item: VaultItem, _ term: String) -> Bool {
    if let (name, value) = Attributes.split(term) { return item.metadata.attributes[name] == value }
    let texts =
      [item.name.service, item.name.account, item.metadata.label] + item.metadata.attributes.flatMap { [$0.key, $0.value] }
    let wanted = term.lowercased()
    return texts.contains { $0.lowercased().contains(wanted) }
  }
}

extension ArgumentHelp {
  /// Items that Coffer keeps for itself are nobody's secrets.
  fileprivate static var internalItems: ArgumentHelp { "Also what Coffer keeps for itself: which login of a host is active." }
}

/// Items, one a line.
enum ItemTable {
  static func show(_ items: [VaultItem], json: Bool) throws {
    if json { return try Output.line(JSONText.encode(items.map(ItemJSON.init))) }
    guard !items.isEmpty else { return }
    try Output.line(Columns.align(items.map { [$0.name.service, $0.name.account, $0.metadata.label] }))
  }
}

/// An item's description in JSON; the value is added by who may show it.
struct ItemJSON: Encodable {
  let service: String, account: String
  /// Of a field of an item alone.
  let field: String?
  let label: String, type: String
  let attributes: [String: String]
  let created: String, modified: String, expires: String?
  let revision: UInt64
  let bytes: Int

  init(_ item: VaultItem) {
    service = item.name.service
    account = item.name.account
    field = item.name.field.isEmpty ? nil : item.name.field
    label = item.metadata.label
    type = item.metadata.contentType
    attributes = item.metadata.attributes
    created = Moment.text(item.created)
    modified = Moment.text(item.modified)
    expires = item.metadata.expires.map(Moment.text)
    revision = item.revision
    bytes = item.valueBytes
  }

  /// Names and values for people, in the order they are shown and asked for by `--field`.
  var fields: [(String, String)] {
    [
      ("service", service), ("account", account), ("label", label), ("type", type), ("created", created), ("modified", modified),
      ("expires", expires ?? ""), ("revision", String(revision)), ("bytes", String(bytes)),
    ] + attributes.sorted { $0.key < $1.key }
  }
}

/// Find items, and what is wrong with them.
enum ListingCommands {
  static let all: [any ParsableCommand.Type] = [VaultListCommand.self, VaultFindCommand.self, VaultAuditCommand.self]
}
