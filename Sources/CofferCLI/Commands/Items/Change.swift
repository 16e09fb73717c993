internal import ArgumentParser
internal import Coffer
internal import CofferPlatform
internal import CofferStorage
internal import CofferTerminal
internal import CofferVault
internal import FoundationEssentials

struct DeleteCommand: OpeningCommand, TwoStoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "delete", abstract: "Remove a secret, a folder of secrets or a preference.",
    discussion: """
      A secret is removed with its fields and previous versions, and can be brought back for 30 days (the setting trash.days). A \
      login is removed for good, and so is a preference. At a terminal the command asks first about secrets, unless --yes. With \
      -r a NAME that ends with a slash is everything below it.
      """, aliases: ["rm", "del", "remove", "erase"])

  static var idleOptions: Set<String> { [] }

  @OptionGroup var item: ItemArguments
  @OptionGroup var part: FieldOption
  @Flag(help: "Remove it for good, with all that is kept of it, even if it was deleted before.") var forever = false
  @Flag(name: [.long, .customShort("r")], help: "Remove every item below NAME/, all or none.") var recursive = false
  @OptionGroup var store: StoreChoice
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func validate() throws {
    guard !recursive || (part.field == nil && !forever && item.key?.hasSuffix("/") == true) else {
      throw ValidationError("-r takes a folder, which ends with a slash, and stands alone")
    }
  }

  func perform(_ context: Context) throws {
    if recursive { return try deleteFolder(context) }
    guard item.isNamed || part.field != nil || store.domain != nil else {
      let items = try context.items()
      return try items.pick("delete", context).map { try delete($0, items, context) } ?? ()
    }
    let words = try item.words
    try words.check()
    let key = try store.key(item, context)
    if let key, part.field == nil, !forever, try key.preference() != nil {
      try key.router.writablePlain().save(nil, for: key.name)
      try key.router.finish()
      return context.done("deleted the preference '\(key.name)' of \(key.router.domain)")
    }
    try context.checkIsNoMirror()
    try key.inVault(context) { items in try delete(found(words, key, items), items, context) }
  }

  private func deleteFolder(_ context: Context) throws {
    let items = try context.items()
    let folder = try ItemFolder(item.key ?? "", in: items)
    guard try context.yes || options.json || isAgreed("Delete \(folder.summary)?") else {
      throw Failure.usage("nothing was removed", try: "--yes, or y at the question")
    }
    try items.apply(folder.items.map { .remove($0.name, keptUntil: Trash.end($0, context)) })
    context.done("deleted \(folder.summary)")
  }

  private func delete(_ found: VaultItem, _ items: VaultItems, _ context: Context) throws {
    let until = forever ? nil : Trash.end(found, context)
    guard try context.yes || options.json || isAgreed(found, until) else {
      throw Failure.usage("nothing was removed", try: "--yes, or y at the question")
    }
    guard try items.remove(found.name, keptUntil: until) else {
      throw StoreError(.notFound, "someone else deleted it just now", key: found.name.description, cure: "nothing is left to do")
    }
    guard let until else { return context.done("deleted '\(found.name)' for good") }
    context.done(
      "deleted '\(found.name)'; \(CommandText.vault("undelete", found.name)) brings it back until \(Moment.day(until))")
  }

  /// The item or field; with `--forever` also a deleted one that can be restored.
  private func found(_ words: ItemWords, _ key: DomainKey?, _ items: VaultItems) throws -> VaultItem {
    do { return try part.item(in: key.item(or: words, in: items), items) } catch let error as StoreError {
      guard forever, error.kind == .notFound else { throw error }
      guard let kept = try items.revisions(of: part.name(in: words.knownName(in: items))).first else { throw error }
      return kept.item
    }
  }

  private func isAgreed(_ found: VaultItem, _ until: Date?) throws -> Bool {
    let label = found.metadata.label.isEmpty ? "" : " '\(found.metadata.label)'"
    return try isAgreed(
      "Delete \(found.name)\(label) (changed \(LocalTime().ago(found.modified)))\(until == nil ? " for good" : "")?")
  }

  private func isAgreed(_ question: String) throws -> Bool {
    guard isatty(STDIN_FILENO) == 1, let terminal = Terminal() else { return true }
    return try terminal.confirm(question)
  }
}

struct RenameCommand: OpeningCommand, TwoStoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "rename", abstract: "Give a secret, a folder of secrets or a preference another name.",
    discussion: """
      Value, label, attributes, dates, expiry and history stay. A name that is taken is an error, unless --replace. Two names \
      that end with a slash are folders: everything below the first moves below the second, all or none; at a terminal the \
      command asks first, unless --yes.
      """,
    aliases: ["mv", "move"])

  @OptionGroup var pair: ItemPair
  @OptionGroup var store: StoreChoice
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  static var idleOptions: Set<String> { [] }

  func perform(_ context: Context) throws {
    if let (old, new) = pair.folders { return try renameFolder(old, new, context) }
    if let key = try pair.key(store, context), let form = try key.preference() {
      return try pair.write(form, key, isMove: true, context)
    }
    let items = try context.items()
    let (name, new) = try pair.names(store, context, in: items)
    let former = try pair.replace ? items.item(new) : nil
    let moved = try pair.applying(new) { try items.apply([.move(name, to: new, if: pair.condition)]) }
    if options.json, let item = moved.first { return try Output.line(JSONText.encode(ItemJSON(item))) }
    context.done("renamed '\(name)' to '\(new)'" + (former == nil ? "" : ", in place of the item that had the name"))
  }

  private func renameFolder(_ old: String, _ new: String, _ context: Context) throws {
    let items = try context.items()
    let folder = try ItemFolder(old, in: items)
    let changes = try folder.items.map { item in
      let name = try folder.name(of: item.name, below: new)
      try NewName.check(name)
      return ItemChange.move(item.name, to: name, if: pair.condition)
    }
    guard try context.agrees("Rename \(folder.summary) to \(Printable.line(new))?") else {
      throw Failure.usage("nothing was renamed", try: "--yes, or y at the question")
    }
    let moved = try pair.applying(nil) { try items.apply(changes) }
    if options.json { return try Output.line(JSONText.encode(moved.map { ItemJSON($0) })) }
    context.done("renamed \(folder.summary) to \(Printable.line(new))")
  }
}

struct CopyCommand: OpeningCommand, TwoStoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "copy", abstract: "Copy a secret or a preference to another name.",
    discussion: """
      Value, label, attributes, expiry and fields are copied. The copy has its own dates, and no history. An expired secret is \
      not copied. A name that is taken is an error, unless --replace.
      """,
    aliases: ["cp"])

  @OptionGroup var pair: ItemPair
  @OptionGroup var store: StoreChoice
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func validate() throws {
    guard pair.folders == nil else { throw ValidationError("a folder is renamed as a whole, but not copied") }
  }

  func perform(_ context: Context) throws {
    if let key = try pair.key(store, context), let form = try key.preference() {
      return try pair.write(form, key, isMove: false, context)
    }
    let items = try context.items()
    let (name, copy) = try pair.names(store, context, in: items)
    let fields = try items.fields(of: name).map { field in
      ItemChange.set(try items.value(of: field.name), for: try copy.field(named: field.name.field))
    }
    let former = try items.item(copy)
    let keeping = HistoryOptions.standard(former, context)
    let stored = try pair.applying(copy) {
      try items.apply([.set(items.value(of: name), for: copy, if: pair.condition, keeping: keeping)] + fields)
    }
    guard let item = stored.first else { return }
    if options.json { return try Output.line(JSONText.encode(ItemJSON(item))) }
    let back = former.map { former in
      item.history > 0
        ? "; \(CommandText.vault("revert", copy, String(former.revision))) brings back what that was" : "; what that was is gone"
    }
    context.done("copied '\(name)' to '\(copy)'" + (back ?? ""))
  }
}
