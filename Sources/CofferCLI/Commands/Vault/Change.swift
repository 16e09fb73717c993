internal import ArgumentParser
internal import Coffer
internal import CofferPlatform
internal import CofferStorage
internal import CofferTerminal
internal import CofferVault
internal import FoundationEssentials

struct VaultDeleteCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "delete", abstract: "Remove an item; it can be brought back for 30 days.",
    discussion: """
      With its fields and former values. A terminal is asked first, unless --yes. The setting trash.days says for how long it \
      can be brought back; what belongs to a login is removed for good.
      """, aliases: ["rm", "del", "remove", "erase"])

  static var idleOptions: Set<String> { [] }

  @OptionGroup var item: ItemArguments
  @OptionGroup var part: FieldOption
  @Flag(help: "For good, with all that is kept of it, also where it was deleted before.") var forever = false
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    try item.check()
    let items = try context.items()
    let found = try found(items)
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
  private func found(_ items: VaultItems) throws -> VaultItem {
    do { return try part.item(in: item.item(in: items), items) } catch let error as StoreError {
      guard forever, error.kind == .notFound else { throw error }
      guard let kept = try items.revisions(of: part.name(in: item.knownName(in: items))).first else { throw error }
      return kept.item
    }
  }

  private func isAgreed(_ found: VaultItem, _ until: Date?) throws -> Bool {
    guard isatty(STDIN_FILENO) == 1, let terminal = Terminal() else { return true }
    let label = found.metadata.label.isEmpty ? "" : " '\(found.metadata.label)'"
    return try terminal.confirm(
      "Delete \(found.name)\(label) (changed \(LocalTime().ago(found.modified)))\(until == nil ? " for good" : "")?")
  }
}

enum Trash {
  /// The end of the time to restore `item`; nil if it is removed for good.
  static func end(_ item: VaultItem, _ context: Context) -> Date? {
    item.isOfLogin ? nil : Settings(context).keptUntil
  }
}

struct VaultRenameCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "rename", abstract: "Give an item another name, in one step.",
    discussion:
      "Everything goes with it: value, label, attributes, dates and expiry. An item that has the name already is left alone, "
      + "unless --replace.",
    aliases: ["mv", "move"])

  @OptionGroup var pair: ItemPair
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    let items = try context.items()
    let name = try pair.item(in: items).name
    let new = try pair.name(from: name)
    let former = try pair.replace ? items.item(new) : nil
    let moved = try pair.applying(new) { try items.apply([.move(name, to: new, if: pair.condition)]) }
    if options.json, let item = moved.first { return try Output.line(JSONText.encode(ItemJSON(item))) }
    context.done("'\(name)' is '\(new)' now" + (former == nil ? "" : ", in the place of the item that had the name"))
  }
}

struct VaultCopyCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "copy", abstract: "Store an item under another name as well.",
    discussion:
      "Value, label, attributes, expiry and fields are copied; the copy has its own dates, and what has expired is not copied. "
      + "An item "
      + "that has the name already is left alone, unless --replace.",
    aliases: ["cp"])

  @OptionGroup var pair: ItemPair
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    let items = try context.items()
    let name = try pair.item(in: items).name
    let copy = try pair.name(from: name)
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

enum ChangeCommands {
  static let all: [any ParsableCommand.Type] = [
    VaultDeleteCommand.self, VaultRenameCommand.self, VaultCopyCommand.self, VaultEditCommand.self,
  ]
}
