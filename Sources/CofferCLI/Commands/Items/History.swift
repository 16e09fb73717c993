internal import ArgumentParser
internal import CofferPlatform
internal import CofferTerminal
internal import CofferVault
internal import FoundationEssentials

struct HistoryCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "history", abstract: "List an item's versions, never a value.",
    discussion: "The newest is first. 'coffer get --revision' prints a previous value; 'coffer revert' brings it back.")

  @OptionGroup var item: ItemArguments
  @OptionGroup var part: FieldOption
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    let isNamed = item.isNamed || part.field != nil
    if isNamed { try item.words.check() }
    let items = try context.itemsToRead()
    guard let name = try isNamed ? name(in: items) : items.pick("show the history", context)?.name else { return }
    let revisions = try items.revisions(of: part.name(in: name))
    if revisions.isEmpty, let field = part.field { throw StoreError.noField(field, of: name) }
    try RevisionTable.show(revisions, json: options.json)
  }

  private func name(in items: VaultItems) throws -> ItemName {
    do { return try item.words.knownName(in: items) } catch let error as StoreError where error.kind == .notFound {
      guard let service = item.name, let number = item.account, UInt16(number) != nil else { throw error }
      throw StoreError(
        .notFound, error.what, key: error.key, cure: "coffer get \(CommandText.quoted(service)) --revision \(number)")
    }
  }
}

struct RevertCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "revert", abstract: "Return an item to its previous version, or to a given revision.",
    usage: "coffer revert NAME [[ACCOUNT] REVISION] [options]",
    discussion: """
      Value, label, attributes and expiry become those of that revision, as a new revision. The current version is kept, as \
      with any write: a second 'coffer revert NAME' undoes the first.
      """)

  @Argument(help: .itemName, completion: Completions.services) var name: String
  @Argument(
    help: ArgumentHelp("The account, if not part of the name, and the revision number.", valueName: "account> <revision"),
    completion: Completions.accounts) var rest: [String] = []
  @OptionGroup var part: FieldOption
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    let given = rest.last.flatMap { UInt64($0) }
    guard rest.count <= 2, rest.isEmpty || given != nil else {
      throw Failure.usage("the last word is not a revision number", try: "coffer history \(CommandText.quoted(name))")
    }
    let items = try context.items()
    let found = try ItemWords(service: self.name, account: rest.count == 2 ? rest[0] : nil).item(in: items).name
    let name = try part.name(in: found)
    guard let revision = try given ?? items.revisions(of: name).first(where: { $0.state == .former })?.item.revision else {
      throw StoreError(.notFound, "no previous version is kept", key: name.description, cure: CommandText.item("history", name))
    }
    if let present = try items.item(name), present.revision == revision {
      if options.json { return try Output.line(JSONText.encode(ItemJSON(present))) }
      return context.done("'\(name)' already equals revision \(revision); nothing was changed")
    }
    // The library's error does not know this program's commands.
    _ = try items.value(of: name, revision: revision)
    let item = try items.revert(name, to: revision)
    if options.json { return try Output.line(JSONText.encode(ItemJSON(item))) }
    let text = "restored '\(name)' to revision \(revision), as revision \(item.revision)"
    context.done(text, elsewhere: given == nil ? text : nil)
  }
}

struct UndeleteCommand: OpeningCommand, AskingCommand {
  static let configuration = CommandConfiguration(
    commandName: "undelete", abstract: "Bring back a deleted item or folder.",
    discussion: """
      Its fields come back as they were. 'coffer list --deleted' lists the deleted items. With a final slash NAME is a folder; \
      a terminal asks first, unless --yes.
      """)

  @OptionGroup var item: ItemArguments
  @OptionGroup var part: FieldOption
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    if !item.isNamed { throw Failure.usage("no name was given", try: "SERVICE/ACCOUNT; coffer list --deleted shows the names") }
    try item.words.check()
    let items = try context.items()
    if part.field == nil, let folder = item.key, folder.hasSuffix("/") {
      let names = try items.deleted().map(\.item.name).filter { $0.field.isEmpty && $0.isBelow(folder) }
      if !names.isEmpty { return try restore(names, below: folder, items, context) }
    }
    let name = try part.name(in: item.words.deletedName(in: items))
    let back: VaultItem
    do { back = try items.undelete(name) } catch let error as StoreError where [.notFound, .alreadyExists].contains(error.kind) {
      let isThere = try items.item(name) != nil
      throw StoreError(
        isThere ? .alreadyExists : .notFound, isThere ? "the item is not deleted" : "no deleted item has this name",
        key: name.description, place: error.place,
        cure: isThere ? CommandText.item("history", name) : "coffer list --deleted lists the items to bring back")
    }
    if options.json { return try Output.line(JSONText.encode(ItemJSON(back))) }
    context.done("restored '\(name)'")
  }

  private func restore(_ names: [ItemName], below folder: String, _ items: VaultItems, _ context: Context) throws {
    let summary = "\(counted(names.count, "item")) below \(Printable.line(folder))"
    try context.checkAgreed("Restore \(summary)?", "restored")
    let back = try ItemFolder.apply(names.map { .undelete($0) }, items, context)
    if options.json { return try Output.line(JSONText.encode(back.map { ItemJSON($0) })) }
    context.done("restored \(summary)")
  }
}

struct VaultPruneCommand: OpeningCommand, AskingCommand {
  static let configuration = CommandConfiguration(
    commandName: "prune", abstract: "Remove previous and deleted versions for good.",
    discussion: """
      Applies to all items, to those of a service, or to one item with its fields. Current values stay. A terminal asks first, \
      unless --yes.
      """)

  @Argument(help: "Only items of this service or below it, or the item of this name.", completion: Completions.services)
  var service: String?
  @Argument(help: "Only the item of this account.", completion: Completions.accounts) var account: String?
  @Option(help: ArgumentHelp("Versions replaced or deleted longer ago: 90d, 12h.", valueName: "time")) var olderThan: AuditTime?
  @Option(help: ArgumentHelp("All but the newest N of each item; 0 removes all.", valueName: "n")) var keep: Int?
  @Flag(help: "Deleted versions that can no longer be brought back.") var expired = false
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func validate() throws {
    guard [olderThan != nil, keep != nil, expired].filter(\.self).count == 1 else {
      throw ValidationError("give one of --older-than, --keep and --expired")
    }
    guard keep ?? 0 >= 0 else { throw ValidationError("--keep takes a number of versions, 0 or more") }
  }

  func perform(_ context: Context) throws {
    let items = try context.items()
    let names = try names(items)
    if !options.json, !expired {
      try context.checkRemoval("Remove previous and deleted versions\(service.map { " of \($0)" } ?? "") for good?")
    }
    let count = try names.map { names in try names.reduce(0) { try $0 + items.prune(rule, of: $1) } } ?? items.prune(rule)
    if options.json { return try Output.line(JSONText.encode(["removed": count])) }
    context.done(count == 1 ? "removed 1 previous or deleted version" : "removed \(count) previous and deleted versions")
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
    guard !names.isEmpty else { throw VaultItems.notFound(try ItemName(service: service)) }
    return names.sorted()
  }
}
