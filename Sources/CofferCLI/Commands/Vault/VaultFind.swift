internal import ArgumentParser
internal import Coffer

struct VaultFind: Command {
  static let configuration = CommandConfiguration(
    commandName: "find", abstract: "Find items by text or by attributes; no value is decrypted.",
    discussion: """
      A word looks for that text in service, account, label and attributes, whatever its case. \
      name=value asks for exactly that attribute. Several must all hold.
      """, aliases: ["search"])

  @Argument(help: ArgumentHelp("Text, or name=value.", valueName: "text|name=value")) var terms: [String]
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var output: JSONOption
  @OptionGroup var common: CommonOptions
  var wantsJSON: Bool { output.json }

  func perform(_ session: Session) throws {
    try CredentialSources(options: unlocking, session: session).claimInput()
    let items = try session.itemsToRead(unlocking)
    let found = try items.list().filter { item in terms.allSatisfy { Self.matches(item, $0) } }
    guard !found.isEmpty else {
      throw StoreError(.notFound, "no item matches", cure: "fewer or shorter terms, or coffer vault list")
    }
    try ItemTable.show(found, json: output.json)
  }

  private static func matches(_ item: VaultItem, _ term: String) -> Bool {
    if let (name, value) = Attributes.split(term) { return item.metadata.attributes[name] == value }
    let texts =
      [item.name.service, item.name.account, item.metadata.label] + item.metadata.attributes.flatMap { [$0.key, $0.value] }
    let wanted = term.lowercased()
    return texts.contains { $0.lowercased().contains(wanted) }
  }
}
