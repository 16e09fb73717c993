internal import ArgumentParser
internal import Coffer
internal import CofferStorage
internal import CofferVault
internal import FoundationEssentials

struct VaultListCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List items; no value is decrypted.",
    discussion: """
      All that is given must hold. SERVICE/ with a slash at its end is all that is below it. Among what has a date --sort begins with the newest change, or with what expires first.
      """, aliases: ["ls"])

  enum Order: String, ExpressibleByArgument, CaseIterable { case name, modified, expires }

  @Argument(help: "Only items of this service.", completion: Completions.services) var service: String?
  @Flag(help: "Draw services and their accounts as a tree.") var tree = false
  @Option(help: "In the order of name, modified or expires.") var sort: Order = .name
  @Option(help: ArgumentHelp("Only what has expired or will within this time: 30d, 12h, 2026-12-31.", valueName: "when"))
  var expiring: String?
  @Option(help: ArgumentHelp("Only items with this attribute; may be repeated.", valueName: "name=value"))
  var attribute: [String] = []
  @Option(help: ArgumentHelp("Only items with this tag, an attribute tag:NAME; may be repeated.", valueName: "name"))
  var tag: [String] = []
  @Flag(help: .internalItems) var `internal` = false
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func validate() throws {
    guard !tree || !options.json else { throw ValidationError("--tree is drawn for people, --json is for programs: give one") }
  }

  func perform(_ context: Context) throws {
    // What ends in a slash is no one service, but a folder of services, as in a store of pass.
    let folder = service.flatMap { $0.hasSuffix("/") ? $0 : nil }
    var query = ItemQuery(service: folder == nil ? service : nil)
    if let folder { query.texts = [folder] }
    query.attributes = try attribute.map { pair in
      guard let (name, value) = Attributes.split(pair) else {
        throw Failure.usage("an attribute is not name=value", try: "--attribute env=production")
      }
      return ItemQuery.Attribute(name, value)
    }
    query.attributeNames = tag.map { "tag:\($0)" }
    // Whoever names their service wants them.
    if !`internal`, service == nil { query.otherThan = AuthAccounts.pointers }
    let limit = try expiring.map { try Expiry.parse($0) }
    let vault = try context.itemsToRead()
    let found = try vault.find(query)
    let fields = try options.json ? vault.fieldNames(query) : [:]
    guard tree || sort != .name || limit != nil || folder != nil else {
      try ItemTable.show(found, json: options.json, fields)
      return tellIfNone(found.isEmpty, context)
    }
    var items = try found.items()
    if let folder { items.removeAll { !$0.name.service.utf8.starts(with: folder.utf8) } }
    if let limit { items.removeAll { ($0.metadata.expires ?? .distantFuture) > limit } }
    switch sort {
    case .name: break
    case .modified: items.sort { $0.modified > $1.modified }
    case .expires: items.sort { ($0.metadata.expires ?? .distantFuture) < ($1.metadata.expires ?? .distantFuture) }
    }
    tellIfNone(items.isEmpty, context)
    guard tree else { return try ItemTable.show(items, json: options.json, fields) }
    if !items.isEmpty { try ItemTree.show(items) }
  }

  /// A terminal's table says it in its last line.
  private func tellIfNone(_ isEmpty: Bool, _ context: Context) {
    guard isEmpty, tree || !Output.isTerminal, !options.json, Display.errors.isTerminal else { return }
    let isChosen = !attribute.isEmpty || !tag.isEmpty || expiring != nil
    context.note(
      isChosen
        ? "no item is like that"
        : service.map { $0.hasSuffix("/") ? "the vault has nothing below '\($0)'" : "the vault has no item of service '\($0)'" }
          ?? "the vault has no items")
  }
}

struct VaultFindCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "find", abstract: "Find items by text or by attributes; no value is decrypted.",
    discussion: """
      A word looks for that text in service, account, label and attributes, whatever its case. \
      name=value asks for exactly that attribute. Several must all hold. With --fuzzy a word is looked for in service, account \
      and label as letters in that order, with others between them, and what fits best comes first.
      """, aliases: ["search"])

  @Argument(help: ArgumentHelp("Text, or name=value.", valueName: "text|name=value")) var terms: [String]
  @Flag(help: "Find the letters of a word with others between them, too.") var fuzzy = false
  @Flag(help: .internalItems) var `internal` = false
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    var query = ItemQuery()
    if !`internal` { query.otherThan = AuthAccounts.pointers }
    var words: [String] = []
    for term in terms {
      if let (name, value) = Attributes.split(term) {
        query.attributes.append(ItemQuery.Attribute(name, value))
      } else {
        words.append(term)
      }
    }
    if !fuzzy { query.texts = words }
    let vault = try context.itemsToRead()
    let found = try vault.find(query)
    let fields = try options.json ? vault.fieldNames(query) : [:]
    guard fuzzy else {
      if found.isEmpty { throw Self.nothing }
      return try ItemTable.show(found, json: options.json, fields)
    }
    let items = try FuzzySearch(words).best(of: found)
    if items.isEmpty { throw Self.nothing }
    try ItemTable.show(items, json: options.json, fields)
  }

  private static let nothing = StoreError(
    .notFound, "no item matches", cure: "fewer or shorter terms, or coffer vault list")
}

extension ArgumentHelp {
  /// Items that Coffer keeps for itself are nobody's secrets.
  fileprivate static var internalItems: ArgumentHelp { "Also what Coffer keeps for itself: which login of a host is active." }
}

/// Items, one a line.
enum ItemTable {
  /// Items that are printed together: enough for few system calls, little enough to be held.
  private static let chunk = 512

  /// Prints items; as JSON with the names of their fields, by item.
  static func show(_ items: [VaultItem], json: Bool, _ fields: [ItemName: [String]]) throws {
    try show(items.count, json: json, fields) { items[$0] }
  }

  static func show(_ items: ItemDescriptions, json: Bool, _ fields: [ItemName: [String]]) throws {
    try show(items.count, json: json, fields) { try items[$0] }
  }

  /// Prints each item as it comes to a program, so that no more than some of them are held at once.
  private static func show(
    _ count: Int, json: Bool, _ fields: [ItemName: [String]], _ item: (Int) throws -> VaultItem
  ) throws {
    if json { return try showJSON(count, fields, item) }
    if Output.isTerminal { return try table((0..<count).map(item)).show() }
    var widths = Columns.Widths()
    for position in 0..<count { widths.add(cells(try item(position))) }
    for start in stride(from: 0, to: count, by: chunk) {
      try Output.line(Columns.align(try (start..<min(count, start + chunk)).map { cells(try item($0)) }, widths))
    }
  }

  private static func cells(_ item: VaultItem) -> [String] { [item.name.service, item.name.account, item.metadata.label] }

  private static func showJSON(_ count: Int, _ fields: [ItemName: [String]], _ item: (Int) throws -> VaultItem) throws {
    guard count > 0 else { return try Output.line("[]") }
    for start in stride(from: 0, to: count, by: chunk) {
      let end = min(count, start + chunk)
      // The brackets of each part are taken away: together they are one list.
      let rows = try (start..<end).map { position in
        let item = try item(position)
        return ItemJSON(item, fields: fields[item.name] ?? [])
      }
      let part = JSONText.encode(rows).utf8.dropFirst().dropLast()
      try Output.write((start == 0 ? "[" : ",") + String(decoding: part, as: UTF8.self) + (end == count ? "]\n" : ""))
    }
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
      }, footer: total(items.count))
  }

  /// How many there are.
  static func total(_ count: Int) -> String { count == 0 ? "no items" : "\(grouped(count)) item\(count == 1 ? "" : "s")" }
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

  /// - Parameter fields: the names of the item's fields; nil where they are not told of.
  init(_ item: VaultItem, fields: [String]? = nil) {
    id = item.id.uuidString.lowercased()
    history = item.history
    written = Moment.text(item.written)
    self.fields = fields
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

  /// What is said of an item beside its attributes, in the order it is shown; `--field` reads it by these names before anything
  /// else.
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
