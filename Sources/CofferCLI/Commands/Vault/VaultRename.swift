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
      "Value, label, attributes and expiry go with it. An item that has the name already is left alone, unless --replace.",
    aliases: ["mv"])

  @OptionGroup var item: ItemArguments
  @OptionGroup var target: TargetName
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var common: CommonOptions

  func perform(_ session: Session) throws {
    try ItemTransfer.perform(item, target, unlocking, session) { found, form, name in
      [.set(form, for: name, if: target.condition), .remove(found.name, if: .revision(found.revision))]
    }
  }
}

struct VaultCopyCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "copy", abstract: "Store an item under another name as well.",
    discussion:
      "Value, label, attributes and expiry are copied. An item that has the name already is left alone, unless --replace.",
    aliases: ["cp"])

  @OptionGroup var item: ItemArguments
  @OptionGroup var target: TargetName
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var common: CommonOptions

  func perform(_ session: Session) throws {
    try ItemTransfer.perform(item, target, unlocking, session) { _, form, name in
      [.set(form, for: name, if: target.condition)]
    }
  }
}

/// What renaming and copying share.
private enum ItemTransfer {
  static func perform(
    _ item: ItemArguments, _ target: TargetName, _ unlocking: UnlockingOptions, _ session: Session,
    _ changes: (VaultItem, SecretForm, ItemName) -> [ItemChange]
  ) throws {
    try CredentialSources(options: unlocking, session: session).claimInput()
    let items = try session.items(unlocking)
    let found = try item.item(in: items)
    let name = try target.name(from: found.name)
    guard let form = try items.get(found.name) else {
      throw StoreError(.conflict, "the item was deleted just now", key: found.name.description, cure: "look again")
    }
    try items.apply(changes(found, form, name))
  }
}
