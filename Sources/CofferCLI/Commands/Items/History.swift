internal import ArgumentParser
internal import Coffer
internal import CofferPlatform
internal import CofferStorage
internal import CofferTerminal
internal import CofferVault
internal import FoundationEssentials

struct HistoryCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "history", abstract: "List the contents that an item had, never a value.",
    discussion: "The newest is first. coffer get --revision prints a former content, coffer revert brings it back.")

  @OptionGroup var item: ItemArguments
  @OptionGroup var part: FieldOption
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    try item.check()
    let items = try context.itemsToRead()
    let name = try item.knownName(in: items)
    let revisions = try items.revisions(of: part.name(in: name))
    guard !revisions.isEmpty else { throw try missing(name, items) }
    try RevisionTable.show(revisions, json: options.json)
  }

  private func missing(_ name: ItemName, _ items: VaultItems) throws -> StoreError {
    guard let field = part.field, try items.item(name) != nil else { return VaultItems.notFound(name, "such item") }
    return .noField(field, of: name)
  }
}

struct RevertCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "revert", abstract: "Give an item the content again that it had at a revision.",
    usage: "coffer revert NAME [ACCOUNT] REVISION [options]",
    discussion: """
      Value, label, attributes and expiry become those of that revision, as a new revision. The present content is kept as any \
      write keeps it.
      """)

  @Argument(help: .itemName, completion: Completions.services) var name: String
  @Argument(
    help: ArgumentHelp(
      "The account, if it is not a part of the name, and the number of the revision.",
      valueName: "account> <revision"),
    completion: Completions.accounts) var rest: [String]
  @OptionGroup var part: FieldOption
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func validate() throws {
    guard (1...2).contains(rest.count), rest.last.flatMap({ UInt64($0) }) != nil else {
      throw ValidationError("the last word is the number of a revision, as coffer history lists them")
    }
  }

  func perform(_ context: Context) throws {
    guard let revision = rest.last.flatMap({ UInt64($0) }) else { return }
    let items = try context.items()
    let found = try ItemWords(service: self.name, account: rest.count == 2 ? rest[0] : nil).item(in: items).name
    let name = try part.name(in: found)
    if let present = try items.item(name), present.revision == revision {
      if options.json { return try Output.line(JSONText.encode(ItemJSON(present))) }
      return context.done("'\(name)' is what it was at revision \(revision) already: nothing was changed")
    }
    // The library's error does not know this program's commands.
    _ = try items.value(of: name, revision: revision)
    let item = try items.revert(name, to: revision)
    if options.json { return try Output.line(JSONText.encode(ItemJSON(item))) }
    context.done("'\(name)' is what it was at revision \(revision); this is revision \(item.revision)")
  }
}

struct UndeleteCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "undelete", abstract: "Bring back an item that was deleted.",
    discussion: """
      With its fields, as they were. coffer list --deleted lists what can be brought back.
      """)

  @OptionGroup var item: ItemArguments
  @OptionGroup var part: FieldOption
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    try item.check()
    let items = try context.items()
    let name = try part.name(in: item.deletedName(in: items))
    let back: VaultItem
    do { back = try items.undelete(name) } catch let error as StoreError where error.kind == .notFound {
      throw StoreError(
        .notFound, "nothing of it can be brought back", key: name.description, place: error.place,
        cure: "coffer list --deleted lists what can be")
    }
    if options.json { return try Output.line(JSONText.encode(ItemJSON(back))) }
    context.done("'\(name)' is back")
  }
}

struct VaultPruneCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "prune", abstract: "Remove previous and deleted versions for good.",
    discussion: """
      Of all items, of those of a service, or of one item with its fields. Current values stay. A terminal is asked first, \
      unless --yes.
      """)

  static var idleOptions: Set<String> { [] }

  @Argument(help: "Only of items of this service or below it, or of the item of this name.", completion: Completions.services)
  var service: String?
  @Argument(help: "Only of the item of this account.", completion: Completions.accounts) var account: String?
  @Option(help: ArgumentHelp("What was replaced or deleted longer ago: 90d, 12h.", valueName: "time")) var olderThan: AuditTime?
  @Option(help: ArgumentHelp("All but so many of each item, the newest; 0 for all.", valueName: "n")) var keep: Int?
  @Flag(help: "What was deleted and can no longer be brought back.") var expired = false
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func validate() throws {
    guard [olderThan != nil, keep != nil, expired].filter(\.self).count == 1 else {
      throw ValidationError("give one of --older-than, --keep and --expired")
    }
    guard keep ?? 0 >= 0 else { throw ValidationError("--keep is a number of former contents, 0 or more") }
  }

  func perform(_ context: Context) throws {
    let items = try context.items()
    let names = try names(items)
    guard try context.yes || options.json || isAgreed() else {
      throw Failure.usage("nothing was removed", try: "--yes, or y at the question")
    }
    let count = try names.map { names in try names.reduce(0) { try $0 + items.prune(rule, of: $1) } } ?? items.prune(rule)
    if options.json { return try Output.line(JSONText.encode(["removed": count])) }
    context.done(count == 1 ? "removed 1 former or deleted content" : "removed \(count) former and deleted contents")
  }

  private var rule: PruneRule {
    if let olderThan { return .olderThan(Date().addingTimeInterval(-olderThan.seconds)) }
    return keep.map { .allBut($0) } ?? .expired
  }

  /// The given items, deleted ones too; nil for all.
  private func names(_ items: VaultItems) throws -> [ItemName]? {
    guard let service else { return nil }
    if let account { return [try ItemName(service: service, account: account)] }
    let names = try Set(items.list().map(\.name) + items.deleted().map(\.item.name.item)).filter { $0.isMeant(by: service) }
    guard !names.isEmpty else { throw VaultItems.notFound(try ItemName(service: service), "item of this name") }
    return names.sorted()
  }

  private func isAgreed() throws -> Bool {
    guard !expired, isatty(STDIN_FILENO) == 1, let terminal = Terminal() else { return true }
    return try terminal.confirm("Remove former and deleted values\(service.map { " of \($0)" } ?? "") for good?")
  }
}
