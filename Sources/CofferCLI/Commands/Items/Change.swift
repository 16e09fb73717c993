internal import ArgumentParser
internal import CofferPlatform
internal import CofferStorage
internal import CofferTerminal
internal import CofferVault
internal import FoundationEssentials

struct DeleteCommand: OpeningCommand, AskingCommand, TwoStoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "delete", abstract: "Remove a secret, a folder of secrets or a preference.",
    discussion: """
      A secret is removed with its fields and previous versions, and can be brought back for 30 days (the setting trash.days). \
      Logins and preferences are removed for good. A terminal asks first, unless --yes.
      """, aliases: ["rm", "del", "remove", "erase"])

  @OptionGroup var item: ItemArguments
  @OptionGroup var part: FieldOption
  @Flag(help: "Remove it and its previous versions for good, even if already deleted.") var forever = false
  @Flag(name: [.long, .customShort("r")], help: "Remove every item below the folder NAME, all or none.") var recursive = false
  @OptionGroup var store: StoreChoice
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func validate() throws {
    guard !recursive || (part.field == nil && !forever && item.key != nil) else {
      throw ValidationError("-r takes only the name of a folder")
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
      try key.checkIsOnlyPreference()
      let place = key.isExact ? " of \(key.router.domain)" : ""
      if !options.json { try context.checkRemoval("Delete the preference \(key.name)\(place)? It cannot be restored.") }
      try key.router.writablePlain().save(nil, for: key.name)
      try key.router.finish()
      return context.done("deleted the preference '\(key.name)' of \(key.router.domain)")
    }
    try context.checkIsNoMirror()
    try key.inVault(context) { items in try delete(found(words, key, items), items, context) }
  }

  private func deleteFolder(_ context: Context) throws {
    let items = try context.items()
    let name = item.key ?? ""
    let folder = try ItemFolder(name.hasSuffix("/") ? name : name + "/", in: items)
    let changes = folder.items.map { (item: $0, end: Trash.end($0, context)) }
    let gone = changes.count { $0.end == nil }
    let forGood = gone == 0 ? "" : gone == changes.count ? " for good" : ", \(gone) of them for good"
    if !options.json { try context.checkRemoval("Delete \(folder.summary)\(forGood)?") }
    _ = try ItemFolder.apply(changes.map { .remove($0.item.name, keptUntil: $0.end) }, items, context)
    let (cure, rest) = ("\(CommandText.coffer) undelete \(CommandText.quoted(folder.prefix))", gone == 0 ? "them" : "the rest")
    context.done("deleted \(folder.summary)\(forGood)" + (gone == changes.count ? "" : "; \(cure) brings \(rest) back"))
  }

  private func delete(_ found: VaultItem, _ items: VaultItems, _ context: Context) throws {
    let until = forever ? nil : Trash.end(found, context)
    if !options.json {
      let label = found.metadata.label.isEmpty ? "" : " '\(found.metadata.label)'"
      let time = "(changed \(LocalTime().ago(found.modified)))\(until == nil ? " for good" : "")"
      try context.checkRemoval("Delete \(found.name)\(label) \(time)?")
    }
    guard try items.remove(found.name, keptUntil: until) else {
      throw StoreError(.notFound, "someone else deleted it just now", key: found.name.description, cure: "nothing is left to do")
    }
    guard let until else { return context.done("deleted '\(found.name)' for good") }
    context.done("deleted '\(found.name)'; \(CommandText.item("undelete", found.name)) brings it back until \(Moment.day(until))")
  }

  /// The item or field; with `--forever` also a deleted one that can be restored.
  private func found(_ words: ItemWords, _ key: DomainKey?, _ items: VaultItems) throws -> VaultItem {
    do { return try part.item(in: key.item(or: words, in: items), items) } catch let error as StoreError {
      guard forever, error.kind == .notFound else { throw error }
      guard let kept = try items.revisions(of: part.name(in: words.knownName(in: items))).first else { throw error }
      return kept.item
    }
  }
}

struct RenameCommand: OpeningCommand, AskingCommand, TwoStoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "rename", abstract: "Rename a secret, a folder of secrets or a preference.",
    discussion: """
      Value, label, attributes, dates, expiry and history stay. An existing name is an error, unless --replace. If both names \
      end with a slash, everything below the first moves below the second, all or none; a terminal asks first, unless --yes. If \
      only the second does, the item moves into that folder. An item given by its service or a part of its name keeps its \
      account: the new name is a service too. --to-vault moves an item or a folder to another vault: a copy is \
      stored there, read again and compared, and then the original is deleted as by 'coffer delete'. Previous versions stay with \
      the deleted item. If the command is killed in between, both vaults have the item. Logins and session values are not moved.
      """,
    aliases: ["mv", "move"])

  @OptionGroup var pair: ItemPair
  @OptionGroup var store: StoreChoice
  @OptionGroup(title: "The other vault") var other: OtherVaultOptions
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func validate() throws { try pair.check(other) }

  func perform(_ context: Context) throws {
    if let place = pair.toVault { return try pair.send(to: place, isMove: true, other, store, context) }
    if let (old, new) = pair.folders { return try renameFolder(old, new, context) }
    if let key = try pair.key(store, context), let form = try key.preference() {
      return try pair.write(form, key, isMove: true, context)
    }
    let items = try context.items()
    let (item, new) = try pair.names(store, context, in: items)
    let former = try pair.replace ? items.item(new) : nil
    let moved = try pair.applying([(item.name, new)]) { try items.apply([.move(item.name, to: new, if: pair.condition)]) }
    if options.json, let item = moved.first { return try Output.line(JSONText.encode(ItemJSON(item))) }
    context.done("renamed '\(item.name)' to '\(new)'" + (former == nil ? "" : ", replacing the item of that name"))
    // Two names without a slash may have been meant as folders.
    guard pair.isTwoNames, pair.service.hasSameBytes(as: item.name.service) else { return }
    let left = try items.items(below: pair.service + "/").count { $0.name != new }
    if left > 0 {
      context.note(
        "\(Printable.line(pair.service))/ has \(counted(left, "more item")); end both names with a slash to rename the folder")
    }
  }

  private func renameFolder(_ old: String, _ new: String, _ context: Context) throws {
    let items = try context.items()
    let folder = try ItemFolder(old, in: items)
    let names = try folder.names(below: new)
    if pair.replace { for name in names { try ItemPair.checkIsNoLogin(name.new, in: items) } }
    let changes = names.map { ItemChange.move($0.old, to: $0.new, if: pair.condition) }
    try context.checkAgreed("Rename \(folder.summary) to \(Printable.line(new))?", "renamed")
    let moved = try pair.applying(names) { try ItemFolder.apply(changes, items, context) }
    if options.json { return try Output.line(JSONText.encode(moved.map { ItemJSON($0) })) }
    context.done("renamed \(folder.summary) to \(Printable.line(new))")
  }
}

struct CopyCommand: OpeningCommand, AskingCommand, TwoStoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "copy", abstract: "Copy a secret or a preference to another name.",
    discussion: """
      Value, label, attributes, expiry and fields are copied. The copy has its own dates, and no history. An expired secret is \
      not copied. An existing name is an error, unless --replace. --to-vault copies an item or a folder to another vault, with \
      its dates, expired or not, all or none; a terminal asks about a folder, unless --yes. Logins and session values are not \
      copied there.
      """,
    aliases: ["cp"])

  @OptionGroup var pair: ItemPair
  @OptionGroup var store: StoreChoice
  @OptionGroup(title: "The other vault") var other: OtherVaultOptions
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func validate() throws {
    try pair.check(other, hint: "; coffer get NAME -c copies it to the clipboard")
    guard pair.folders == nil || pair.toVault != nil else {
      throw ValidationError("a folder can be renamed, or copied to another vault")
    }
  }

  func perform(_ context: Context) throws {
    if let place = pair.toVault { return try pair.send(to: place, isMove: false, other, store, context) }
    if let key = try pair.key(store, context), let form = try key.preference() {
      return try pair.write(form, key, isMove: false, context)
    }
    let items = try context.items()
    let (item, copy) = try pair.names(store, context, in: items)
    let name = item.name
    let fields = try items.fields(of: name).map { field in
      ItemChange.set(try items.value(of: field.name), for: try copy.field(named: field.name.field))
    }
    let former = try items.item(copy)
    let names = Set(fields.map(\.name))
    let replaced = try former.map { try items.fields(of: $0.name).filter { !names.contains($0.name) } } ?? []
    let keeping = HistoryOptions.standard(former, context)
    let stored = try pair.applying([(copy, copy)]) {
      try items.apply(
        replaced.map { .remove($0.name, keptUntil: Trash.end($0, context)) }
          + [.set(items.value(of: name), for: copy, if: pair.condition, keeping: keeping)] + fields)
    }
    guard let stored = stored.first else { return }
    if options.json { return try Output.line(JSONText.encode(ItemJSON(stored))) }
    let back = former.map { former in
      stored.history > 0
        ? "; \(CommandText.item("revert", copy, String(former.revision))) restores the replaced item"
        : "; the replaced item is gone"
    }
    context.done("copied '\(name)' to '\(copy)'" + (back ?? ""))
  }
}
