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
    let answer = Answer(vault.path.string, vault.id, try vault.status(), try vault.pinStatus(), try vault.logLength())
    if output.json { return try Output.line(JSONText.encode(answer)) }
    var rows = [
      ["vault", answer.path], ["id", answer.id], ["items", String(answer.items)], ["generation", String(answer.generation)],
      ["epoch", String(answer.epoch)], ["created", answer.created], ["rotated", answer.rotated],
    ]
    rows += [
      ["pin", try vault.pinStatus().meaning], ["log", "\(answer.log) entries"],
      [
        "memory",
        answer.memory.unlockedBytes == 0 ? "locked" : "\(answer.memory.unlockedBytes) bytes may reach swap; raise ulimit -l",
      ],
    ]
    rows += answer.slots.map { ["slot", $0.id, $0.opens, Printable.line($0.label)] }
    if answer.oldBytesRemain { rows.append(["old bytes", "still in the file; the next command that writes removes them"]) }
    try Output.line(Columns.align(rows))
  }

  private struct Answer: Encodable {
    let path: String, id: String, items: Int, generation: UInt64, epoch: UInt64, created: String, rotated: String
    let pin: String, log: Int, memory: Memory
    let slots: [SlotJSON]
    let oldBytesRemain: Bool
    struct Memory: Encodable { let lockedBytes: Int, unlockedBytes: Int }

    init(_ path: String, _ id: VaultID, _ status: VaultStatus, _ pin: PinStatus, _ log: Int) {
      self.path = path
      self.id = id.description
      items = status.items
      generation = status.generation
      epoch = status.epoch
      created = Moment.text(status.created)
      rotated = Moment.text(status.rotated)
      self.pin = pin.word
      self.log = log
      let report = SecretMemory.report
      memory = Memory(lockedBytes: report.lockedBytes, unlockedBytes: report.unlockedBytes)
      slots = status.slots.map(SlotJSON.init)
      oldBytesRemain = status.oldBytesRemain
    }
  }
}

extension PinStatus {
  /// The word that names this in JSON.
  var word: String {
    switch self {
    case .none: "none"
    case .firstUse: "firstUse"
    case .upToDate: "upToDate"
    case .unchanged: "unchanged"
    case .notWritten: "notWritten"
    }
  }

  var meaning: String {
    switch self {
    case .none: "none: an older copy of the whole file is not noticed"
    case .firstUse: "first seen just now"
    case .upToDate: "up to date"
    case .unchanged: "compared, and left as it was: the vault is read only here"
    case .notWritten: "compared, but it could not be written"
    }
  }
}
