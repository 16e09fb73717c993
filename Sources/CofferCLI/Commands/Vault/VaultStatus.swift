internal import ArgumentParser
internal import Coffer

struct VaultStatusCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "status", abstract: "Print what the unlocked vault says of itself.")

  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var output: JSONOption
  @OptionGroup var common: CommonOptions
  var wantsJSON: Bool { output.json }

  func perform(_ session: Session) throws {
    try CredentialSources(options: unlocking, session: session).claimInput()
    let vault = try session.unlockedVault(unlocking)
    let answer = Answer(vault.path.string, vault.id, try vault.status())
    if output.json { return try Output.line(JSONText.encode(answer)) }
    var rows = [
      ["vault", answer.path], ["id", answer.id], ["items", String(answer.items)], ["generation", String(answer.generation)],
      ["epoch", String(answer.epoch)], ["created", answer.created], ["rotated", answer.rotated],
    ]
    rows += answer.slots.map { ["slot", $0.id, $0.opens, $0.label] }
    try Output.line(Columns.align(rows))
  }

  private struct Answer: Encodable {
    let path: String, id: String, items: Int, generation: UInt64, epoch: UInt64, created: String, rotated: String
    let slots: [Slot]
    struct Slot: Encodable { let id: String, opens: String, label: String, passes: UInt32, mebibytes: UInt32 }

    init(_ path: String, _ id: VaultID, _ status: VaultStatus) {
      self.path = path
      self.id = id.description
      items = status.items
      generation = status.generation
      epoch = status.epoch
      created = Moment.text(status.created)
      rotated = Moment.text(status.rotated)
      slots = status.slots.map { slot in
        Slot(
          id: slot.summary.id.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined(),
          opens: slot.summary.kind.name, label: slot.label, passes: slot.summary.passes, mebibytes: slot.summary.mebibytes)
      }
    }
  }
}
