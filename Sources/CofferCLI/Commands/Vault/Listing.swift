internal import ArgumentParser
internal import Coffer
internal import CofferVault
internal import FoundationEssentials

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
    let found = try items.list(service: service).filter { `internal` || service != nil || !AuthAccounts.isPointer($0) }
    try ItemTable.show(found, json: options.json)
    if found.isEmpty, !Output.isTerminal {
      context.tell(service.map { "the vault has no item of service '\($0)'" } ?? "the vault has no items")
    }
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
    if json { return try Output.line(JSONText.encode(items.map { ItemJSON($0) })) }
    if Output.isTerminal { return try table(items).show() }
    guard !items.isEmpty else { return }
    try Output.line(Columns.align(items.map { [$0.name.service, $0.name.account, $0.metadata.label] }))
  }

  /// For a person, who wants to know as well what is new and what has expired.
  static func table(_ items: [VaultItem], _ time: LocalTime = LocalTime()) -> Table {
    Table(
      columns: [
        .text("SERVICE"), .text("ACCOUNT"), .text("LABEL", rank: 2), .fixed("CHANGED", rank: 3), .fixed("EXPIRES", rank: 1),
      ],
      rows: items.map { item in
        let expires = item.metadata.expires
        return [
          Table.Cell(item.name.service), Table.Cell(item.name.account), Table.Cell(item.metadata.label),
          Table.Cell(time.ago(item.modified), .dim),
          Table.Cell(expires.map(time.expiry) ?? "", expires.map { $0 <= time.now } ?? false ? .red : nil),
        ]
      }, footer: items.isEmpty ? "no items" : "\(grouped(items.count)) item\(items.count == 1 ? "" : "s")")
  }
}

/// An item's description in JSON; the value is added by who may show it.
struct ItemJSON: Encodable {
  let service: String, account: String
  /// Of a field of an item alone.
  let field: String?
  let label: String, type: String
  let attributes: [String: String]
  let created: String, modified: String, written: String, expires: String?
  let revision: UInt64
  let bytes: Int
  /// How many former contents are kept.
  let history: Int
  let id: String
  /// The names of the secret fields, where they were asked for.
  let fields: [String]?

  /// - Parameter fields: the item's fields; nil where they are not told of.
  init(_ item: VaultItem, fields: [VaultItem]? = nil) {
    id = item.id.uuidString.lowercased()
    history = item.history
    written = Moment.text(item.written)
    self.fields = fields?.map(\.name.field)
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

  /// What is said of an item beside its attributes, in the order it is shown; `--field` reads it by these names before anything else.
  var description: [(String, String)] {
    [
      ("service", service), ("account", account), ("label", label), ("type", type), ("created", created), ("modified", modified),
      ("expires", expires ?? ""), ("revision", String(revision)), ("bytes", String(bytes)),
    ]
  }

  /// Names and values for people. An attribute whose name means something else is told as one.
  var rows: [[String]] {
    let said = description
    let attributes = attributes.sorted { $0.key < $1.key }.map { name, value in
      [said.contains { $0.0 == name } || name == "fields" ? "attribute \(name)" : name, value]
    }
    let fields = fields.map { $0.isEmpty ? [] : [["fields", $0.joined(separator: ", ")]] } ?? []
    return said.filter { !$0.1.isEmpty }.map { [$0.0, $0.1] } + attributes + fields
  }
}

/// Find items, and what is wrong with them.
enum ListingCommands {
  static let all: [any ParsableCommand.Type] = [VaultListCommand.self, VaultFindCommand.self, VaultAuditCommand.self]
}
