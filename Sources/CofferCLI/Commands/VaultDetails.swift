internal import Coffer
internal import CofferAgent
internal import CofferFormats
internal import CofferMemory
internal import CofferTerminal
internal import CofferVault

enum VaultDetails {
  static func show(_ context: Context) throws {
    let found = try Found(context)
    let settings = Settings(context)
    let answer = Answer(
      context.places.vault.description, found,
      Answer.History(keep: settings.historyKeep, trashDays: settings.trashDays, deleted: found.deleted))
    if context.json { return try Output.json(answer) }
    var rows = [
      ["vault", answer.path], ["id", answer.id], ["items", String(answer.items)], ["generation", String(answer.generation)],
      ["epoch", String(answer.epoch)], ["created", moment(answer.created)], ["rotated", moment(answer.rotated)],
    ]
    rows += [
      ["pin", found.description.pin.words.person], ["log", "\(answer.log) entries"],
      [
        "memory",
        answer.memory.unlockedBytes == 0 ? "locked" : "\(answer.memory.unlockedBytes) bytes may reach swap; raise ulimit -l",
      ],
      ["history", answer.history.meaning],
    ]
    rows += answer.slots.map { ["slot", $0.id, $0.opens, Printable.line($0.label)] }
    if answer.oldBytesRemain { rows.append(["old bytes", "still in the file; the next command that writes removes them"]) }
    try Sheet.show(rows)
  }

  private struct Found {
    let id: VaultID
    let description: HeldVaultDescription
    /// Without Coffer's own, as in a list.
    let items: Int
    let deleted: Int

    init(_ context: Context) throws {
      switch try context.openedVault() {
      case .byAgent(let agent):
        guard let held = try agent.status().unlocked else { throw CredentialSources.nothing(context.places.vault) }
        (id, description, deleted) = (held, try agent.ask(Calls.describe), try agent.deleted().count)
        items = try description.status.items - agent.find(ItemQuery(service: LoginItems.pointers)).count
      case .here(let vault):
        let memory = SecretMemory.report
        description = HeldVaultDescription(
          status: try vault.status(), pin: try vault.pinStatus(), log: try vault.logLength(), lockedBytes: memory.lockedBytes,
          unlockedBytes: memory.unlockedBytes)
        (id, deleted) = (vault.id, try vault.deleted().count)
        items = try vault.count(ItemQuery(otherThan: LoginItems.pointers))
      }
    }
  }

  private static func moment(_ text: String) -> String {
    guard Output.isTerminal, let date = Moment.parse(text) else { return text }
    let time = LocalTime()
    return "\(time.minute(date)) (\(time.ago(date)))"
  }

  private struct Answer: Encodable {
    let path: String, id: String, items: Int, generation: UInt64, epoch: UInt64, created: String, rotated: String
    let pin: String, log: Int, memory: Memory
    let slots: [SlotJSON]
    let oldBytesRemain: Bool
    let history: History
    struct History: Encodable {
      let keep: Int, trashDays: Int, deleted: Int

      var meaning: String {
        let previous = keep == 0 ? "no previous versions are kept" : "\(keep) previous versions are kept per item"
        let trash =
          trashDays == 0 ? "deleted items cannot be brought back" : "deleted items can be brought back for \(trashDays) days"
        return "\(previous); \(trash), now \(deleted)"
      }
    }
    struct Memory: Encodable { let lockedBytes: Int, unlockedBytes: Int }

    init(_ path: String, _ found: Found, _ history: History) {
      let status = found.description.status
      self.history = history
      self.path = path
      (id, items, generation, epoch) = (found.id.description, found.items, status.generation, status.epoch)
      (created, rotated) = (Moment.text(status.created), Moment.text(status.rotated))
      (pin, log) = (found.description.pin.words.program, found.description.log)
      memory = Memory(lockedBytes: found.description.lockedBytes, unlockedBytes: found.description.unlockedBytes)
      (slots, oldBytesRemain) = (status.slots.map(SlotJSON.init), status.oldBytesRemain)
    }
  }
}

extension PinStatus {
  var words: (program: String, person: String) {
    switch self {
    case .none: ("none", "none: an older copy of the file is not noticed")
    case .firstUse: ("firstUse", "first seen just now")
    case .upToDate: ("upToDate", "up to date")
    case .unchanged: ("unchanged", "compared, not updated: the vault is read-only here")
    case .notWritten: ("notWritten", "compared, but it could not be written")
    }
  }
}
