internal import ArgumentParser
internal import Coffer

struct VaultList: Command {
  static let configuration = CommandConfiguration(
    commandName: "list", _superCommandName: "coffer vault", abstract: "List items; no value is decrypted.", aliases: ["ls"])

  @Argument(help: "Only items of this service.", completion: Completions.services) var service: String?
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var output: JSONOption
  @OptionGroup var common: CommonOptions
  var wantsJSON: Bool { output.json }

  func perform(_ session: Session) throws {
    try CredentialSources(options: unlocking, session: session).claimInput()
    let items = try session.itemsToRead(unlocking)
    try ItemTable.show(items.list(service: service), json: output.json)
  }
}
