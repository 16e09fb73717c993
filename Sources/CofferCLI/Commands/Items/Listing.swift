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
      NAME is a service, or a folder with everything below it. Items must meet all conditions. --sort modified lists the newest \
      first; --sort expires, the soonest. With --domain the domain's keys are listed, each with its store; with --vault, only \
      items. ⏱ marks a one-time code, ⚿2 two other secret fields.
      """, aliases: ["ls"])

  enum Order: String, ExpressibleByArgument, CaseIterable { case name, modified, expires }

  @Argument(help: ArgumentHelp("Only items of this service or below it.", valueName: "name"), completion: Completions.services)
  var service: String?
  @Flag(help: "Draw folders, services and accounts as a tree.") var tree = false
  @Option(help: "Sort by name, modified or expires.") var sort: Order = .name
  @Option(help: ArgumentHelp("Only items that expired or will within this time: 30d, 12h, 2026-12-31.", valueName: "when"))
  var expiring: String?
  @Option(help: ArgumentHelp("Only items with this attribute; may be repeated.", valueName: "name=value"))
  var attribute: [String] = []
  @Option(help: ArgumentHelp("Only items with this tag, an attribute tag:NAME; may be repeated.", valueName: "name"))
  var tag: [String] = []
  @Flag(help: "Only deleted items that can be brought back.") var deleted = false
  @Flag(help: "Only preferences; needs no vault.") var plain = false
  @Flag(help: .internalItems) var `internal` = false
  @OptionGroup var store: StoreChoice
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func validate() throws {
    guard !tree || !options.json else { throw ValidationError("give --tree or --json, not both") }
    guard !deleted || !(isChosen || tree || plain || sort != .name) else {
      throw ValidationError("--deleted takes only a service")
    }
    guard !plain || !(isChosen || tree || service != nil) else { throw ValidationError("--plain lists only preferences") }
  }

  private var isChosen: Bool { !attribute.isEmpty || !tag.isEmpty || expiring != nil }
  private var isAboutItems: Bool { store.onlyItems || service != nil || isChosen || tree || `internal` || sort != .name }

  func perform(_ context: Context) throws {
    if deleted { return try listDeleted(context) }
    let domain = store.domain ?? (isAboutItems ? nil : ProcessEnvironment.value("COFFER_DOMAIN"))
    if let domain {
      guard !isAboutItems else { throw Failure.usage("--domain lists the keys of a domain", try: "it alone, or with --plain") }
      return try KeyList(router: ShellRouter(domain: domain, context), plain: plain).show(context)
    }
    let router = try isAboutItems || (context.isVaultNamed && !plain) ? nil : ShellRouter(domain: RouterOptions.standard, context)
    let preferences = try router.map { try KeyList.preferences($0) } ?? []
    if plain { return try KeyList.show(preferences, json: options.json) }
    do { try listItems(context, preferences) } catch let error
      where router != nil && (error as? Failure)?.status != .interrupted
    {
      // Preferences are listed although the vault is missing or does not open.
      let isMissing = (error as? StoreError).map { context.goesOn(without: $0) } ?? false
      guard isMissing || !preferences.isEmpty else { throw error }
      let none = isMissing ? "no vault yet: coffer init creates one" : "no keys"
      try KeyList.show(preferences, json: options.json, none: none)
      if !isMissing { throw error }
    }
  }

  private func listDeleted(_ context: Context) throws {
    let deleted = try context.itemsToRead().deleted().filter { [service] in service.map($0.item.name.isMeant(by:)) ?? true }
    try RevisionTable.showDeleted(deleted, json: options.json)
    // A terminal's table reports it in its last line.
    if deleted.isEmpty, options.json || !Output.isTerminal { context.done("no deleted items can be brought back") }
  }

  private func listItems(_ context: Context, _ preferences: [KeyList.Row]) throws {
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
    let limit = try expiring.map { try Expiry.parse($0, of: "--expiring") }
    let vault = try context.itemsToRead()
    let found = try vault.find(query)
    let fields = try options.json || Output.isTerminal || tree ? vault.fieldNames(query) : [:]
    guard tree || sort != .name || limit != nil || service != nil || !preferences.isEmpty else {
      try ItemTable.show(found, json: options.json, fields)
      return try tellIfNone(found.isEmpty, vault, context)
    }
    var items = try found.items()
    if let service { items.removeAll { !$0.name.isMeant(by: service) } }
    if let limit { items.removeAll { ($0.metadata.expires ?? .distantFuture) > limit } }
    switch sort {
    case .name: break
    case .modified: items.sort { $0.modified > $1.modified }
    case .expires: items.sort { ($0.metadata.expires ?? .distantFuture) < ($1.metadata.expires ?? .distantFuture) }
    }
    try tellIfNone(items.isEmpty, vault, context)
    if tree { return items.isEmpty ? () : try ItemTree.show(items, fields) }
    guard !preferences.isEmpty else { return try ItemTable.show(items, json: options.json, fields) }
    try show(items, preferences, fields)
  }

  private func show(_ items: [VaultItem], _ rows: [KeyList.Row], _ fields: [ItemName: [String]]) throws {
    guard options.json else {
      try ItemTable.show(items, json: false, fields)
      if Output.isTerminal { try Output.line("") }
      return try KeyList.show(rows, json: false)
    }
    let listed = items.map { ItemJSON($0, fields: fields[$0.name] ?? []) }
    guard !items.isEmpty else { return try KeyList.show(rows, json: true) }
    try Output.line(JSONText.encode(listed).dropLast() + "," + JSONText.encode(rows).dropFirst())
  }

  private func tellIfNone(_ isEmpty: Bool, _ vault: VaultItems, _ context: Context) throws {
    guard isEmpty, !options.json, Display.errors.isTerminal else { return }
    let hint = try isChosen ? nil : service.flatMap { try vault.search(for: $0) }
    guard hint != nil || tree || !Output.isTerminal else { return }
    context.note(
      isChosen
        ? "no item meets the conditions"
        : service.map { "the vault has no item of service '\($0)' or below it\(hint ?? "")" } ?? "the vault has no items")
  }
}

private struct KeyList {
  let router: ShellRouter
  let plain: Bool

  func show(_ context: Context) throws {
    let rows = try Self.preferences(router), preferences = rows.map(\.key)
    let (secrets, failure) = try secrets(after: preferences)
    let all = (rows + secrets.map { Row(key: $0, store: "vault") }).sorted { ($0.key, $0.store) < ($1.key, $1.store) }
    try Self.show(all, json: context.json)
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

  static func show(_ rows: [Row], json: Bool, none: String = "no keys") throws {
    if json { return try Output.line(JSONText.encode(rows)) }
    if Output.isTerminal {
      return try Table(
        columns: [.text("KEY"), .fixed("STORE"), .text("VALUE", rank: 1)],
        rows: rows.map { [Table.Cell($0.key), Table.Cell($0.store), Table.Cell($0.value)] },
        footer: rows.isEmpty ? none : counted(rows.count, "key")
      ).show()
    }
    if !rows.isEmpty { try Output.line(Columns.tabs(rows.map { [$0.key, $0.store, "", "", ""] })) }
  }

  /// A terminal also shows the beginning of each value that can be read.
  static func preferences(_ router: ShellRouter) throws -> [Row] {
    try router.plain.names().map { Row(key: $0, store: "defaults", value: Output.isTerminal ? beginning(of: $0, router) : "") }
  }

  private static func beginning(of name: String, _ router: ShellRouter) -> String {
    do throws(StoreError) {
      return try router.plain.load(name).map { String(PlainText.text($0).prefix(200)) } ?? ""
    } catch { return "" }
  }

  struct Row: Encodable {
    let key: String, store: String
    var value = ""

    private enum CodingKeys: CodingKey { case key, store }
  }
}

struct FindCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "find", abstract: "Find items by text, by attributes, or by a part of a secret.",
    discussion: """
      A word matches text in service, account, label and attributes, ignoring case. name=value matches exactly that attribute. \
      Items must match all terms. With --fuzzy, the letters of a word match in that order, with others between them, in service, \
      account and label; the best match comes first. --values takes a text from a prompt or standard input, and prints the names \
      of the items that have it, case included, in the value or a secret field, even an expired one. It asks for the \
      passphrase or key file even if an agent has the vault open. No other search decrypts a value.
      """, aliases: ["search"])

  @Argument(help: ArgumentHelp("Text, or name=value.", valueName: "text|name=value")) var terms: [String] = []
  @Flag(help: "Also match words with other letters in between.") var fuzzy = false
  @Flag(help: "Look into values and secret fields, for a text that is asked for.") var values = false
  @Flag(help: .internalItems) var `internal` = false
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  /// The most bytes of the text: the search keeps 24 for each, and a terminal's line has no more.
  private static let longestText = 4096

  /// An agent that was left unlocked must not say which item holds a secret.
  var opening: UnlockingOptions? {
    var own = unlocking
    own.noAgent = own.noAgent || values
    return own
  }

  func validate() throws {
    guard values || !terms.isEmpty else { throw ValidationError("give a text, name=value or --values") }
    guard !values || !fuzzy else { throw ValidationError("give --values or --fuzzy, not both") }
  }

  func claimInput(_ context: Context) throws {
    guard values else { return }
    guard terms.isEmpty else {
      throw Failure.usage(
        "the text of --values is never an argument, because every process and the shell's history would see it",
        try: "the same without it, and the text at the prompt or on standard input")
    }
    if isatty(STDIN_FILENO) == 0 { try context.input.claim(for: "the text") }
  }

  func perform(_ context: Context) throws {
    if values { return try search(context) }
    var query = ItemQuery(otherThan: `internal` ? nil : LoginItems.pointers)
    query.attributes = terms.compactMap { $0.nameAndValue.map { ItemQuery.Attribute($0.name, $0.value) } }
    let words = terms.filter { $0.nameAndValue == nil }
    let paths = fuzzy ? [] : words.filter { $0.contains("/") }
    // A word with a slash may begin in the service and end in the account.
    if !fuzzy { query.texts = words.compactMap { $0.split(separator: "/").last.map(String.init) } }
    let vault = try context.itemsToRead()
    let found = try vault.find(query)
    let fields = try options.json || Output.isTerminal ? vault.fieldNames(query) : [:]
    guard fuzzy || !paths.isEmpty else {
      if found.isEmpty { throw Self.nothing }
      return try ItemTable.show(found, json: options.json, fields)
    }
    let items =
      try fuzzy
      ? FuzzySearch(words).best(of: found.count) { FuzzySearch.texts(of: try found[$0]) }.map { try found[$0] }
      : found.items().filter { item in paths.allSatisfy { item.has($0) } }
    if items.isEmpty { throw Self.nothing }
    try ItemTable.show(items, json: options.json, fields)
  }

  private func search(_ context: Context) throws {
    let text = try SecretReader.answer(to: Question("Text to find"), limit: Self.longestText, what: "the text")
    guard text.count > 0 else { throw Failure.usage("the text is empty", try: "one byte or more") }
    // One pass over each value, although an import chose its bytes.
    let automaton = try MaskAutomaton([SecretForm(text)])
    var found: [VaultItem] = [], fields: [ItemName: [String]] = [:], item: VaultItem?, damage: StoreError?
    context.reason = "Searching values needs the passphrase or key file again."
    let vault = try context.openedVault()
    context.spin("Searching")
    defer { StatusLine.clear() }
    try vault.forEachItem(withFields: true) {
      if $0.name.field.isEmpty { item = $0 }
    } unreadable: {
      if $0.name.field.isEmpty { item = $0 }
      damage = damage ?? $1
    } _: { part, form in
      if part.name.field.isEmpty { item = part } else { fields[part.name.item, default: []].append(part.name.field) }
      guard let item, item.name == part.name.item, found.last?.name != item.name, `internal` || !LoginItems.isPointer(item)
      else { return }
      var isThere = false
      _ = form.bytes.withUnsafeBytes { automaton.advance(0, $0) { _, _ in isThere = true } }
      if isThere { found.append(item) }
    }
    if found.isEmpty { throw damage ?? Self.nothing }
    try ItemTable.show(found, json: options.json, fields)
    if let damage { throw damage }
  }

  private static let nothing = StoreError(
    .notFound, "no item matches",
    cure: "fewer or shorter terms; coffer list shows all, coffer find --values looks into the values")
}

extension ArgumentHelp {
  /// Coffer's own items are no user's secrets.
  static var internalItems: ArgumentHelp { "Also Coffer's own items: the active login of each host." }
}
