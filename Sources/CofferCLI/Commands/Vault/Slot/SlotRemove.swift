internal import ArgumentParser
internal import Coffer

struct SlotRemove: Command {
  static let configuration = CommandConfiguration(
    commandName: "remove", abstract: "Remove a slot: the vault gets a new key that is not sealed to it.",
    discussion: "What opened the slot still opens copies of the file that were made before.", aliases: ["rm", "delete"])

  @Argument(help: "The beginning of the slot's id, or its label.") var slot: String
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var output: JSONOption
  @OptionGroup var common: CommonOptions
  var wantsJSON: Bool { output.json }

  func perform(_ session: Session) throws {
    try CredentialSources(options: unlocking, session: session).claimInput()
    let vault = try session.unlockedVault(unlocking)
    let slots = try vault.slots()
    let removed = try slots.named(slot)
    let rotation = Rotation(sealingTo: slots.filter { $0.summary.id != removed.summary.id }, of: slots)
    guard slots.count > 1 else {
      throw StoreError(
        .refused, "this is the last slot, and nothing would open the vault", key: slot, cure: "coffer vault slot add, first")
    }
    try rotation.perform(vault, session, json: output.json)
  }
}
