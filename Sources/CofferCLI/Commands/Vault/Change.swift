internal import ArgumentParser
internal import Coffer
internal import CofferStorage
internal import CofferVault

struct VaultDeleteCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "delete", abstract: "Remove an item.", aliases: ["rm", "del", "remove", "erase"])

  @OptionGroup var item: ItemArguments
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    try item.check()
    let items = try context.items()
    let name = try item.item(in: items).name
    guard try items.remove(name) else {
      throw StoreError(.notFound, "someone else deleted it just now", key: name.description, cure: "nothing is left to do")
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

  @OptionGroup var pair: ItemPair
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    let items = try context.items()
    let name = try pair.item(in: items).name
    let moved = try pair.applying { try items.apply([.move(name, to: pair.name(from: name), if: pair.condition)]) }
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
    let stored = try pair.applying {
      try items.apply([.set(items.value(of: name), for: copy, if: pair.condition)] + fields)
    }
    if options.json, let item = stored.first { try Output.line(JSONText.encode(ItemJSON(item))) }
  }
}

struct VaultEditCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "edit", abstract: "Change an item's value in your editor.",
    discussion: """
      The value is in a file that is in memory alone, in a folder that only you can enter, and is wiped when the editor ends; \
      without a file system in memory nothing is edited. VISUAL or EDITOR names the editor. If it fails or is killed nothing is \
      changed, and an unchanged value is not written. Editors add a newline at the end: it is dropped if the value had none, \
      unless --exact. An expiry belonged to the old value and is not kept.
      """)

  @OptionGroup var item: ItemArguments
  @Flag(help: "Keep a newline that the editor added at the end.") var exact = false
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  static var startsPrograms: Bool { true }

  func perform(_ context: Context) throws {
    let items = try context.items()
    let found = try item.item(in: items)
    let before = try items.value(of: found.name)
    let edited = try Editor.edit(before.bytes, limit: SecretReader.largestValue, places: context.places)
    let value = try trimmed(edited, like: before.bytes)
    guard !value.isEqual(to: before.bytes) else { return context.note("nothing was changed") }
    guard exact || value.count > 0 else {
      throw Failure.usage("the value is empty now", try: "--exact, if it shall be; nothing was stored")
    }
    var metadata = before.metadata
    metadata.expires = nil
    try items.set(SecretForm(value, metadata: metadata), for: found.name, if: .revision(found.revision))
    if before.metadata.expires != nil { context.note("the new value does not expire; coffer vault set --expires says when") }
  }

  private func trimmed(_ edited: consuming SecretBytes, like before: borrowing SecretBytes) throws -> SecretBytes {
    let hadNewline = before.withUnsafeBytes { $0.last == 0x0A }
    if exact || hadNewline { return edited }
    return try edited.withoutTrailingNewline(.lineFeed)
  }
}

/// Delete, rename, copy and edit an item.
enum ChangeCommands {
  static let all: [any ParsableCommand.Type] = [
    VaultDeleteCommand.self, VaultRenameCommand.self, VaultCopyCommand.self, VaultEditCommand.self,
  ]
}
