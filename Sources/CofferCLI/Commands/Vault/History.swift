internal import ArgumentParser
internal import Coffer
internal import CofferPlatform
internal import CofferStorage
internal import CofferTerminal
internal import CofferVault
internal import FoundationEssentials

struct VaultHistoryCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "history", abstract: "List the contents that an item had, never a value.",
    discussion: "The newest is first. coffer vault get --revision prints a former content, coffer vault revert brings it back.")

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

struct VaultRevertCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "revert", abstract: "Give an item the content again that it had at a revision.",
    usage: "coffer vault revert [--field <name>] [<options>] <service> [<account>] <revision>",
    discussion: """
      Value, label, attributes and expiry become those of that revision, as a new revision. The present content is kept as any \
      write keeps it.
      """)

  @Argument(help: "What the secret opens: a host, a URL, an app's domain.", completion: Completions.services) var service: String
  @Argument(
    help: ArgumentHelp(
      "Whose it is, which may be left out where one item matches, and the number of the revision.",
      valueName: "account> <revision"),
    completion: Completions.accounts) var rest: [String]
  @OptionGroup var part: FieldOption
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func validate() throws {
    guard (1...2).contains(rest.count), rest.last.flatMap({ UInt64($0) }) != nil else {
      throw ValidationError("the last word is the number of a revision, as coffer vault history lists them")
    }
  }

  func perform(_ context: Context) throws {
    guard let revision = rest.last.flatMap({ UInt64($0) }) else { return }
    let items = try context.items()
    let found = try items.item(service: service, account: rest.count == 2 ? rest[0] : nil).name
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

struct VaultUndeleteCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "undelete", abstract: "Bring back an item that was deleted.",
    discussion: """
      With its fields, as they were. coffer vault deleted lists what can be brought back.
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
        cure: "coffer vault deleted lists what can be")
    }
    if options.json { return try Output.line(JSONText.encode(ItemJSON(back))) }
    context.done("'\(name)' is back")
  }
}

struct VaultDeletedCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "deleted", abstract: "List what was deleted and can be brought back.",
    aliases: ["trash"])

  @Argument(help: "Only items of this service.") var service: String?
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    let deleted = try context.itemsToRead().deleted(service: service)
    try RevisionTable.showDeleted(deleted, json: options.json)
    // A terminal's table reports it in its last line.
    if deleted.isEmpty, options.json || !Output.isTerminal { context.done("nothing that was deleted can be brought back") }
  }
}

struct VaultPruneCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "prune", abstract: "Remove former and deleted contents for good.",
    discussion: """
      Of all items, of those of one service, or of one item with its fields. Present values stay. A terminal is asked first, \
      unless --yes.
      """)

  static var idleOptions: Set<String> { [] }

  @Argument(help: "Only of items of this service.", completion: Completions.services) var service: String?
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
    return Set(try items.list(service: service).map(\.name) + items.deleted(service: service).map(\.item.name.item)).sorted()
  }

  private func isAgreed() throws -> Bool {
    guard !expired, isatty(STDIN_FILENO) == 1, let terminal = Terminal() else { return true }
    return try terminal.confirm("Remove former and deleted values\(service.map { " of \($0)" } ?? "") for good?")
  }
}

enum HistoryCommands {
  static let all: [any ParsableCommand.Type] = [
    VaultHistoryCommand.self, VaultRevertCommand.self, VaultUndeleteCommand.self, VaultDeletedCommand.self,
    VaultPruneCommand.self,
  ]
}
