internal import ArgumentParser
internal import Coffer
internal import CofferPlatform
internal import CofferStorage
internal import CofferVault
internal import FoundationEssentials

struct VaultDeleteCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "delete", abstract: "Remove an item; it can be brought back for 30 days.",
    discussion: """
      With its fields and former values. A terminal is asked first, unless --yes. The setting trash.days says for how long it can be \
      brought back; what belongs to a login is removed for good. For example: coffer vault delete github.com ada
      """, aliases: ["rm", "del", "remove", "erase"])

  @OptionGroup var item: ItemArguments
  @OptionGroup var part: FieldOption
  @Flag(help: "For good, with all that is kept of it.") var forever = false
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    try item.check()
    let items = try context.items()
    let found = try part.item(in: item.item(in: items), items)
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

  private func isAgreed(_ found: VaultItem, _ until: Date?) throws -> Bool {
    guard isatty(STDIN_FILENO) == 1, let terminal = Terminal() else { return true }
    let label = found.metadata.label.isEmpty ? "" : " '\(found.metadata.label)'"
    return try terminal.confirm(
      "Delete \(found.name)\(label) (changed \(LocalTime().ago(found.modified)))\(until == nil ? " for good" : "")?")
  }
}

/// How long what is deleted can be brought back.
enum Trash {
  /// Until when; nil where `item` is removed for good.
  static func end(_ item: VaultItem, _ context: Context) -> Date? {
    item.isOfLogin ? nil : Settings(context).keptUntil
  }
}

/// The other name of an item.
struct TargetName: ParsableArguments {
  @Option(help: ArgumentHelp("The other service; the same one when left out.", valueName: "service")) var toService: String?
  @Option(help: ArgumentHelp("The other account; the same one when left out.", valueName: "account")) var toAccount: String?
  @Flag(help: "Take the place of an item that has that name.") var replace = false

  func validate() throws {
    guard toService != nil || toAccount != nil else { throw ValidationError("give --to-service, --to-account or both") }
  }

  func name(from old: ItemName) throws -> ItemName {
    let new = try ItemName(service: toService ?? old.service, account: toAccount ?? old.account)
    if let toService { try NewName.check(toService, as: "service") }
    if let toAccount { try NewName.check(toAccount, as: "account") }
    guard new != old else { throw Failure.usage("the item has that name already", try: "another --to-service or --to-account") }
    return new
  }

  var condition: WriteCondition { replace ? .always : .absent }

  /// Does what takes the name, and says which option takes one that is taken.
  func applying<Result>(_ change: () throws -> Result) throws -> Result {
    do { return try change() } catch let error as StoreError where error.kind == .alreadyExists {
      throw StoreError(
        error.kind, error.what, key: error.key, place: error.place,
        cure: "choose another name; --replace takes the place of the item that has it")
    }
  }
}

struct VaultRenameCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "rename", abstract: "Give an item another name, in one step.",
    discussion:
      "Everything goes with it: value, label, attributes, dates and expiry. An item that has the name already is left alone, "
      + "unless --replace.",
    aliases: ["mv", "move"])

  @OptionGroup var item: ItemArguments
  @OptionGroup var target: TargetName
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    let items = try context.items()
    let name = try item.item(in: items).name
    let moved = try target.applying { try items.apply([.move(name, to: target.name(from: name), if: target.condition)]) }
    if options.json, let item = moved.first { try Output.line(JSONText.encode(ItemJSON(item))) }
  }
}

struct VaultCopyCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "copy", abstract: "Store an item under another name as well.",
    discussion:
      "Value, label, attributes, expiry and fields are copied; the copy has its own dates, and what has expired is not copied. An item "
      + "that has the name already is left alone, unless --replace.",
    aliases: ["cp"])

  @OptionGroup var item: ItemArguments
  @OptionGroup var target: TargetName
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    let items = try context.items()
    let name = try item.item(in: items).name
    let copy = try target.name(from: name)
    let fields = try items.fields(of: name).map { field in
      ItemChange.set(try items.value(of: field.name), for: try copy.field(named: field.name.field))
    }
    let keeping = HistoryOptions.standard(try items.item(copy), context)
    let stored = try target.applying {
      try items.apply([.set(items.value(of: name), for: copy, if: target.condition, keeping: keeping)] + fields)
    }
    if options.json, let item = stored.first { try Output.line(JSONText.encode(ItemJSON(item))) }
  }
}

/// Delete, rename, copy and edit an item.
enum ChangeCommands {
  static let all: [any ParsableCommand.Type] = [
    VaultDeleteCommand.self, VaultRenameCommand.self, VaultCopyCommand.self, VaultEditCommand.self,
  ]
}
