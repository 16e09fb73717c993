internal import ArgumentParser
internal import Coffer
internal import CofferFormats
internal import CofferPlatform
internal import CofferStorage
internal import CofferTerminal
internal import CofferVault
internal import FoundationEssentials

struct ListCommand: OpeningCommand, TwoStoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List secrets and preferences; no value is decrypted.",
    discussion: """
      NAME is a service, or a folder with everything below it. An item is listed if it meets all conditions. --sort modified \
      lists the newest change first; --sort expires, the soonest end. With --domain the keys of that domain are listed, each \
      with its store. With --plain the vault is not touched.
      """, aliases: ["ls"])

  enum Order: String, ExpressibleByArgument, CaseIterable { case name, modified, expires }

  @Argument(help: ArgumentHelp("Only items of this service or below it.", valueName: "name"), completion: Completions.services)
  var service: String?
  @Flag(help: "Draw folders, services and accounts as a tree.") var tree = false
  @Option(help: "Sort by name, modified or expires.") var sort: Order = .name
  @Option(help: ArgumentHelp("Only what has expired or will within this time: 30d, 12h, 2026-12-31.", valueName: "when"))
  var expiring: String?
  @Option(help: ArgumentHelp("Only items with this attribute; may be repeated.", valueName: "name=value"))
  var attribute: [String] = []
  @Option(help: ArgumentHelp("Only items with this tag, an attribute tag:NAME; may be repeated.", valueName: "name"))
  var tag: [String] = []
  @Flag(help: "Only deleted items, which can be brought back.") var deleted = false
  @Flag(help: "Only preferences; needs no vault.") var plain = false
  @Flag(help: .internalItems) var `internal` = false
  @OptionGroup var store: StoreChoice
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func validate() throws {
    guard !tree || !options.json else { throw ValidationError("--tree is drawn for people, --json is for programs: give one") }
    guard !deleted || !(isChosen || tree || plain || sort != .name) else {
      throw ValidationError("--deleted takes only a service")
    }
    guard !plain || !(isChosen || tree || service != nil) else { throw ValidationError("--plain lists preferences alone") }
  }

  private var isChosen: Bool { !attribute.isEmpty || !tag.isEmpty || expiring != nil }
  private var isAboutItems: Bool {
    store.onlyItems || service != nil || isChosen || tree || `internal` || sort != .name
  }

  func perform(_ context: Context) throws {
    if deleted { return try listDeleted(context) }
    let domain = store.domain ?? (isAboutItems ? nil : ProcessEnvironment.value("COFFER_DOMAIN"))
    if let domain {
      guard !isAboutItems else { throw Failure.usage("--domain lists the keys of a domain", try: "it alone, or with --plain") }
      return try KeyList(router: ShellRouter(domain: domain, context), plain: plain).show(context)
    }
    let router = try isAboutItems ? nil : ShellRouter(domain: RouterOptions.standard, context)
    let preferences = try router?.plain.names() ?? []
    if plain { return try KeyList.show(preferences.map { KeyList.Row(key: $0, store: "defaults") }, json: options.json) }
    do { try listItems(context, preferences) } catch let error where router != nil && !Self.isInterrupted(error) {
      // Preferences are listed although the vault is missing or does not open.
      let isMissing = (error as? StoreError)?.kind == .noVault && !context.mustHaveVault
      guard isMissing || !preferences.isEmpty else { throw error }
      try KeyList.show(preferences.map { KeyList.Row(key: $0, store: "defaults") }, json: options.json)
      if !isMissing { throw error }
    }
  }

  private static func isInterrupted(_ error: any Error) -> Bool { (error as? Failure)?.status == .interrupted }

  private func listDeleted(_ context: Context) throws {
    let deleted = try context.itemsToRead().deleted().filter { [service] in service.map($0.item.name.isMeant(by:)) ?? true }
    try RevisionTable.showDeleted(deleted, json: options.json)
    // A terminal's table reports it in its last line.
    if deleted.isEmpty, options.json || !Output.isTerminal { context.done("nothing that was deleted can be brought back") }
  }

  private func listItems(_ context: Context, _ preferences: [String]) throws {
    var query = ItemQuery()
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
    let fields = try options.json || Output.isTerminal || tree ? vault.fieldNames(query) : [:]
    guard tree || sort != .name || limit != nil || service != nil || !preferences.isEmpty else {
      try ItemTable.show(found, json: options.json, fields)
      return tellIfNone(found.isEmpty, context)
    }
    var items = try found.items()
    if let service { items.removeAll { !$0.name.isMeant(by: service) } }
    if let limit { items.removeAll { ($0.metadata.expires ?? .distantFuture) > limit } }
    switch sort {
    case .name: break
    case .modified: items.sort { $0.modified > $1.modified }
    case .expires: items.sort { ($0.metadata.expires ?? .distantFuture) < ($1.metadata.expires ?? .distantFuture) }
    }
    tellIfNone(items.isEmpty, context)
    if tree { return items.isEmpty ? () : try ItemTree.show(items, fields) }
    guard !preferences.isEmpty else { return try ItemTable.show(items, json: options.json, fields) }
    try show(items, preferences, fields)
  }

  private func show(_ items: [VaultItem], _ preferences: [String], _ fields: [ItemName: [String]]) throws {
    let rows = preferences.map { KeyList.Row(key: $0, store: "defaults") }
    guard options.json else {
      try ItemTable.show(items, json: false, fields)
      return try KeyList.show(rows, json: false)
    }
    let listed = items.map { ItemJSON($0, fields: fields[$0.name] ?? []) }
    guard !items.isEmpty else { return try KeyList.show(rows, json: true) }
    try Output.line(JSONText.encode(listed).dropLast() + "," + JSONText.encode(rows).dropFirst())
  }

  /// A terminal's table reports it in its last line.
  private func tellIfNone(_ isEmpty: Bool, _ context: Context) {
    guard isEmpty, tree || !Output.isTerminal, !options.json, Display.errors.isTerminal else { return }
    context.note(
      isChosen
        ? "no item meets the conditions"
        : service.map { "the vault has no item of service '\($0)' or below it" } ?? "the vault has no items")
  }
}

/// The keys of a domain, each with its store.
private struct KeyList {
  let router: ShellRouter
  let plain: Bool

  func show(_ context: Context) throws {
    let preferences = try router.plain.names()
    let (secrets, failure) = try secrets(after: preferences)
    let rows = (preferences.map { Row(key: $0, store: "defaults") } + secrets.map { Row(key: $0, store: "vault") })
      .sorted { ($0.key, $0.store) < ($1.key, $1.store) }
    try Self.show(rows, json: context.json)
    if let failure { throw failure }
    if let twice = Set(preferences).intersection(secrets).min() { throw router.inBoth(twice) }
  }

  /// The keys in the vault, or why they are unknown: any preferences are listed all the same.
  private func secrets(after preferences: [String]) throws -> ([String], (any Error)?) {
    guard !plain else { return ([], nil) }
    do { return (try router.vault()?.names() ?? [], nil) } catch {
      guard !preferences.isEmpty, (error as? Failure)?.status != .interrupted else { throw error }
      return ([], error)
    }
  }

  static func show(_ rows: [Row], json: Bool) throws {
    if json { return try Output.line(JSONText.encode(rows)) }
    if Output.isTerminal {
      return try Table(
        columns: [.text("KEY"), .fixed("STORE")], rows: rows.map { [Table.Cell($0.key), Table.Cell($0.store)] },
        footer: rows.isEmpty ? "no keys" : counted(rows.count, "key")
      ).show()
    }
    if !rows.isEmpty { try Output.line(Columns.tabs(rows.map { ItemTable.row($0.key, store: $0.store) })) }
  }

  struct Row: Encodable { let key: String, store: String }
}

struct FindCommand: OpeningCommand {
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
    let fields = try options.json || Output.isTerminal ? vault.fieldNames(query) : [:]
    guard fuzzy else {
      if found.isEmpty { throw Self.nothing }
      return try ItemTable.show(found, json: options.json, fields)
    }
    let items = try FuzzySearch(words).best(of: found)
    if items.isEmpty { throw Self.nothing }
    try ItemTable.show(items, json: options.json, fields)
  }

  private static let nothing = StoreError(
    .notFound, "no item matches", cure: "fewer or shorter terms, or coffer list")
}

extension ArgumentHelp {
  /// Coffer's own items are no user's secrets.
  static var internalItems: ArgumentHelp { "Also what Coffer keeps for itself: which login of a host is active." }
}
