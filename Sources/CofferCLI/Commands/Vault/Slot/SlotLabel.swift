internal import ArgumentParser
internal import Coffer

struct SlotLabel: Command {
  static let configuration = CommandConfiguration(commandName: "label", abstract: "Give a slot another label.")

  @Argument(help: "The beginning of the slot's id, or its label.") var slot: String
  @Argument(help: "The new label, at most 64 bytes.") var label: String
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var output: JSONOption
  @OptionGroup var common: CommonOptions
  var wantsJSON: Bool { output.json }

  func perform(_ session: Session) throws {
    try CredentialSources(options: unlocking, session: session).claimInput()
    let vault = try session.unlockedVault(unlocking)
    try vault.relabelSlot(vault.slots().named(slot).summary.id, to: label)
  }
}
