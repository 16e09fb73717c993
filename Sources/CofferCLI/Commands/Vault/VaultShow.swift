internal import ArgumentParser
internal import Coffer

struct VaultShow: Command {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Print everything about an item but its value.")

  @OptionGroup var item: ItemArguments
  @Flag(help: "The value too.") var reveal = false
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var output: JSONOption
  @OptionGroup var common: CommonOptions
  var wantsJSON: Bool { output.json }

  func perform(_ session: Session) throws {
    try item.check()
    try CredentialSources(options: unlocking, session: session).claimInput()
    let items = try session.itemsToRead(unlocking)
    let found = try item.item(in: items)
    let secret = reveal ? try items.get(found.name) : nil
    let json = ItemJSON(found)
    if output.json {
      guard let secret else { return try Output.line(JSONText.encode(json)) }
      return try JSONText.write(JSONText.encode(json), "value", secret.bytes)
    }
    try Output.line(Columns.align(json.fields.filter { !$0.1.isEmpty }.map { [$0.0, $0.1] }))
    guard let secret else { return }
    try Output.write("value     ")
    try Output.write(secret.bytes)
    try Output.write("\n")
  }
}
