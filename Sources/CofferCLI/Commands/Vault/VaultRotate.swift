internal import ArgumentParser
internal import Coffer

struct VaultRotate: Command {
  static let configuration = CommandConfiguration(
    commandName: "rotate", abstract: "Give the vault a new key and seal everything under it.",
    discussion: """
      Needs one way in; all slots go on to open the vault, and programs that have it open go on without asking. Whoever could \
      write to the vault may have added a slot: the slots are shown first, and --only names those that shall stay.
      """)

  @Option(
    parsing: .upToNextOption,
    help: ArgumentHelp("Seal to these slots and remove all others.", valueName: "slot"))
  var only: [String] = []
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var output: JSONOption
  @OptionGroup var common: CommonOptions
  var wantsJSON: Bool { output.json }

  func perform(_ session: Session) throws {
    try CredentialSources(options: unlocking, session: session).claimInput()
    let vault = try session.unlockedVault(unlocking)
    let slots = try vault.slots()
    let named = Swift.Set(try only.map { try slots.named($0).summary.id })
    let kept = only.isEmpty ? slots : slots.filter { named.contains($0.summary.id) }
    try Rotation(sealingTo: kept, of: slots).perform(vault, session, json: output.json)
  }
}
