internal import ArgumentParser
internal import Coffer

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
    guard new != old else { throw Failure.usage("the item has that name already", try: "another --to-service or --to-account") }
    return new
  }

  var condition: WriteCondition { replace ? .always : .absent }
}

struct VaultRename: Command {
  static let configuration = CommandConfiguration(
    commandName: "rename", abstract: "Give an item another name, in one step.",
    discussion:
      "Everything goes with it: value, label, attributes, dates and expiry. An item that has the name already is left alone, "
      + "unless --replace.",
    aliases: ["mv", "move"])

  @OptionGroup var item: ItemArguments
  @OptionGroup var target: TargetName
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var output: JSONOption
  @OptionGroup var common: CommonOptions
  var wantsJSON: Bool { output.json }

  func perform(_ session: Session) throws {
    try CredentialSources(options: unlocking, session: session).claimInput()
    let items = try session.items(unlocking)
    let name = try item.item(in: items).name
    let moved = try items.apply([.move(name, to: target.name(from: name), if: target.condition)])
    if output.json, let item = moved.first { try Output.line(JSONText.encode(ItemJSON(item))) }
  }
}

struct VaultCopyCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "copy", abstract: "Store an item under another name as well.",
    discussion:
      "Value, label, attributes and expiry are copied; the copy has its own dates, and what has expired is not copied. An item "
      + "that has the name already is left alone, unless --replace.",
    aliases: ["cp"])

  @OptionGroup var item: ItemArguments
  @OptionGroup var target: TargetName
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var output: JSONOption
  @OptionGroup var common: CommonOptions
  var wantsJSON: Bool { output.json }

  func perform(_ session: Session) throws {
    try CredentialSources(options: unlocking, session: session).claimInput()
    let items = try session.items(unlocking)
    let name = try item.item(in: items).name
    let copy = try target.name(from: name)
    let item = try items.set(items.value(of: name), for: copy, if: target.condition)
    if output.json { try Output.line(JSONText.encode(ItemJSON(item))) }
  }
}
