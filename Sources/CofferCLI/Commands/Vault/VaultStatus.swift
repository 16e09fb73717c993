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
    rows += answer.slots.map { ["slot", $0.id, $0.opens, Printable.line($0.label)] }
    if answer.oldBytesRemain { rows.append(["old bytes", "still in the file; the next command that writes removes them"]) }
    try Output.line(Columns.align(rows))
  }

  private struct Answer: Encodable {
    let path: String, id: String, items: Int, generation: UInt64, epoch: UInt64, created: String, rotated: String
    let slots: [SlotJSON]
    let oldBytesRemain: Bool

    init(_ path: String, _ id: VaultID, _ status: VaultStatus) {
      self.path = path
      self.id = id.description
      items = status.items
      generation = status.generation
      epoch = status.epoch
      created = Moment.text(status.created)
      rotated = Moment.text(status.rotated)
      slots = status.slots.map(SlotJSON.init)
      oldBytesRemain = status.oldBytesRemain
    }
  }
}
