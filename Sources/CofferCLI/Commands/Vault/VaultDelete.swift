internal import ArgumentParser
internal import Coffer

struct VaultDelete: Command {
  static let configuration = CommandConfiguration(
    commandName: "delete", abstract: "Remove an item.", aliases: ["rm", "del", "remove", "erase"])

  @OptionGroup var item: ItemArguments
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var output: JSONOption
  @OptionGroup var common: CommonOptions
  var wantsJSON: Bool { output.json }

  func perform(_ session: Session) throws {
    try item.check()
    try CredentialSources(options: unlocking, session: session).claimInput()
    let items = try session.items(unlocking)
    let name = try item.item(in: items).name
    guard try items.delete(name) else {
      throw StoreError(.notFound, "someone else deleted it just now", key: name.description, cure: "nothing is left to do")
    }
  }
}
