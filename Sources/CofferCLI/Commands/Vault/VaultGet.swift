internal import ArgumentParser
internal import Coffer

struct VaultGet: Command {
  static let configuration = CommandConfiguration(
    commandName: "get", _superCommandName: "coffer vault", abstract: "Print the value of an item.",
    discussion: "Exactly the stored bytes go to a pipe; only a terminal gets a newline after them.", aliases: ["cat", "read"])

  @OptionGroup var item: ItemArguments
  @Option(
    help: ArgumentHelp("Print this instead of the value: label, type, expires, or an attribute by its name.", valueName: "name"))
  var field: String?
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var output: JSONOption
  @OptionGroup var common: CommonOptions
  var wantsJSON: Bool { output.json }

  func perform(_ session: Session) throws {
    try item.check()
    try CredentialSources(options: unlocking, session: session).claimInput()
    let items = try session.itemsToRead(unlocking)
    if field == nil, !output.json { return try show(item.value(in: items)) }
    let found = try item.item(in: items)
    if let field { return try show(field, of: ItemJSON(found)) }
    try JSONText.write(JSONText.encode(ItemJSON(found)), "value", items.value(of: found.name).bytes)
  }

  private func show(_ secret: SecretForm) throws {
    try Output.write(secret.bytes)
    if Output.isTerminal { try Output.write("\n") }
  }

  private func show(_ field: String, of item: ItemJSON) throws {
    guard let value = item.fields.first(where: { $0.0 == field })?.1, !value.isEmpty else {
      throw StoreError(
        .notFound, "the item has no field of that name", key: field, cure: "coffer vault show \(item.service) lists its fields")
    }
    if output.json { return try Output.line(JSONText.encode([field: value])) }
    try Output.write(value + (Output.isTerminal ? "\n" : ""))
  }
}
