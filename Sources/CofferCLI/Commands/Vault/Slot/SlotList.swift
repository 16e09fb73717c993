internal import ArgumentParser
internal import Coffer

struct SlotList: Command {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List the slots.",
    discussion: "One line for each: its id, what opens it, its label, and * for the one that opened the vault just now.",
    aliases: ["ls"])

  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var output: JSONOption
  @OptionGroup var common: CommonOptions
  var wantsJSON: Bool { output.json }

  func perform(_ session: Session) throws {
    try CredentialSources(options: unlocking, session: session).claimInput()
    let slots = try session.unlockedVault(unlocking).slots()
    try Output.line(output.json ? JSONText.encode(slots.map(SlotJSON.init)) : SlotTable.text(slots))
  }
}
