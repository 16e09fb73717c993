internal import ArgumentParser
internal import Coffer
internal import CofferFormats
internal import CofferStorage
internal import CofferTerminal
internal import CofferVault
internal import FoundationEssentials

struct VaultListCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List items; no value is decrypted.",
    discussion: """
      All that is given must hold. SERVICE/ with a slash at its end is all that is below it. Among what has a date --sort begins \
      with the newest change, or with what expires first.
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
    // A slash at the end means a folder of services, as in a store of pass.
    let folder = service.flatMap { $0.hasSuffix("/") ? $0 : nil }
    var query = ItemQuery(service: folder == nil ? service : nil)
    if let folder { query.texts = [folder] }
    query.attributes = try attribute.map { pair in
      guard let (name, value) = pair.nameAndValue else {
        throw Failure.usage("an attribute is not name=value", try: "--attribute env=production")
      }
      return ItemQuery.Attribute(name, value)
    }
    query.attributeNames = tag.map { "tag:\($0)" }
    // A service of Coffer's own is listed if it is given.
    if !`internal`, service == nil { query.otherThan = LoginItems.pointers }
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

  /// A terminal's table reports it in its last line.
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
    if !`internal` { query.otherThan = LoginItems.pointers }
    var words: [String] = []
    for term in terms {
      if let (name, value) = term.nameAndValue {
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
  /// Coffer's own items are no user's secrets.
  fileprivate static var internalItems: ArgumentHelp { "Also what Coffer keeps for itself: which login of a host is active." }
}

enum ListingCommands {
  static let all: [any ParsableCommand.Type] = [VaultListCommand.self, VaultFindCommand.self, VaultAuditCommand.self]
}
