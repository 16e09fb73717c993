internal import ArgumentParser
internal import Coffer
internal import CofferAgent
internal import CofferMemory
internal import CofferTerminal
internal import CofferVault

struct VaultStatusCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "status", abstract: "Print what the unlocked vault says of itself.")

  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    let found = try Found(context)
    let settings = Settings(context)
    let answer = Answer(
      context.places.vault.description, found,
      Answer.History(keep: settings.historyKeep, trashDays: settings.trashDays, deleted: found.deleted))
    if options.json { return try Output.line(JSONText.encode(answer)) }
    var rows = [
      ["vault", answer.path], ["id", answer.id], ["items", String(answer.items)], ["generation", String(answer.generation)],
      ["epoch", String(answer.epoch)], ["created", Self.moment(answer.created)], ["rotated", Self.moment(answer.rotated)],
    ]
    rows += [
      ["pin", found.description.pin.meaning], ["log", "\(answer.log) entries"],
      [
        "memory",
        answer.memory.unlockedBytes == 0 ? "locked" : "\(answer.memory.unlockedBytes) bytes may reach swap; raise ulimit -l",
      ],
    ]
    rows.append(["history", answer.history.meaning])
    rows += answer.slots.map { ["slot", $0.id, $0.opens, Printable.line($0.label)] }
    if answer.oldBytesRemain { rows.append(["old bytes", "still in the file; the next command that writes removes them"]) }
    try Sheet.show(rows)
  }

  /// The report of the process that has the vault open.
  private struct Found {
    let id: VaultID
    let description: HeldVaultDescription
    /// Restorable items and fields.
    let deleted: Int

    init(_ context: Context) throws {
      switch try context.openedVault() {
      case .byAgent(let agent):
        guard let held = try agent.status().unlocked else { throw CredentialSources.nothing(context.places.vault) }
        (id, description, deleted) = (held, try agent.ask(Calls.describe), try agent.deleted().count)
      case .here(let vault):
        let memory = SecretMemory.report
        description = HeldVaultDescription(
          status: try vault.status(), pin: try vault.pinStatus(), log: try vault.logLength(), lockedBytes: memory.lockedBytes,
          unlockedBytes: memory.unlockedBytes)
        (id, deleted) = (vault.id, try vault.deleted().count)
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
        let former = keep == 0 ? "no former values are kept" : "\(keep) former values are kept of an item"
        let trash =
          trashDays == 0 ? "what is deleted is gone" : "what is deleted can be brought back for \(trashDays) days"
        return "\(former); \(trash), now \(deleted)"
      }
    }
    struct Memory: Encodable { let lockedBytes: Int, unlockedBytes: Int }

    init(_ path: String, _ found: Found, _ history: History) {
      let status = found.description.status
      self.history = history
      self.path = path
      id = found.id.description
      items = status.items
      generation = status.generation
      epoch = status.epoch
      created = Moment.text(status.created)
      rotated = Moment.text(status.rotated)
      pin = found.description.pin.word
      log = found.description.log
      memory = Memory(lockedBytes: found.description.lockedBytes, unlockedBytes: found.description.unlockedBytes)
      slots = status.slots.map(SlotJSON.init)
      oldBytesRemain = status.oldBytesRemain
    }
  }
}

extension PinStatus {
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

struct VaultVerifyCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify", abstract: "Check every record of the vault; nothing is decrypted.")

  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    let report = try verify(context)
    if options.json { return try Output.line(JSONText.encode(["records": report.records, "buckets": report.buckets])) }
    let count = report.records
    try Output.line(
      count == 1
        ? "1 record is where and what it was when it was sealed"
        : "\(count) records are where and what they were when they were sealed")
  }
}

extension VaultVerifyCommand {
  private func verify(_ context: Context) throws -> VerifyReport {
    switch try context.openedVault() {
    case .byAgent(let agent):
      context.spin("Verifying")
      defer { StatusLine.clear() }
      return try agent.ask(Calls.verify)
    case .here(let vault):
      let progress = context.progress(json: options.json, .verifying)
      defer { progress.clear() }
      return try vault.verify(progress: progress.show)
    }
  }
}

struct VaultLogCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "log", abstract: "Print who did what to which item when, never a value.",
    discussion: """
      The whole chain of entries is checked first: a row that was changed, added or taken away is exit status 66. An item that \
      no longer exists is shown by its place in the vault, which is the same for one name. The newest entry is last. \
      A change through an agent names the program that asked the agent for it.
      """)

  @Option(help: ArgumentHelp("Only the newest entries.", valueName: "n")) var limit: Int?
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func validate() throws {
    if let limit, limit < 1 { throw ValidationError("--limit is a number of entries, 1 or more") }
  }

  func perform(_ context: Context) throws {
    let entries =
      switch try context.openedVault() {
      case .byAgent(let agent): try agent.ask(Calls.log, limit.map { UInt64(clamping: $0) })
      case .here(let vault): try vault.log(limit: limit)
      }
    if options.json { return try Output.line(JSONText.encode(entries.map(Row.init))) }
    if Output.isTerminal { return try Self.table(entries).show() }
    guard !entries.isEmpty else { return }
    try Output.line(
      Columns.align(
        entries.map { entry in
          [
            String(entry.sequence), Moment.text(entry.date), entry.event.rawValue,
            Self.subject(entry), entry.program,
            "user \(entry.user)", "process \(entry.process)",
          ]
        }))
  }

  private static func subject(_ entry: VaultLogEntry) -> String {
    entry.item?.description ?? entry.index ?? entry.slot.map { "slot \($0)" } ?? ""
  }

  private static func table(_ entries: [VaultLogEntry], _ time: LocalTime = LocalTime()) -> Table {
    Table(
      columns: [
        .number("#", rank: 3), .fixed("WHEN"), .fixed("EVENT"), .text("ITEM"), .text("PROGRAM", rank: 1),
        .number("USER", rank: 2),
        .number("PROCESS", rank: 4),
      ],
      rows: entries.map { entry in
        [
          Table.Cell(String(entry.sequence), .dim), Table.Cell(time.minute(entry.date)), Table.Cell(entry.event.rawValue),
          Table.Cell(subject(entry)), Table.Cell(entry.program), Table.Cell(String(entry.user)),
          Table.Cell(String(entry.process), .dim),
        ]
      },
      footer: entries.isEmpty
        ? "no entries" : "\(grouped(entries.count)) \(entries.count == 1 ? "entry" : "entries"), the newest last; times are local"
    )
  }

  private struct Row: Encodable {
    let sequence: UInt64, date: String, event: String, user: UInt32, process: UInt32, program: String
    let service: String?, account: String?, field: String?, index: String?, slot: String?, openedWith: String

    init(_ entry: VaultLogEntry) {
      sequence = entry.sequence
      date = Moment.text(entry.date)
      event = entry.event.rawValue
      user = entry.user
      process = entry.process
      program = entry.program
      service = entry.item?.service
      account = entry.item?.account
      field = entry.item.flatMap { $0.field.isEmpty ? nil : $0.field }
      index = entry.index
      slot = entry.slot
      openedWith = entry.openedWith
    }
  }
}

enum UpkeepCommands {
  static let all: [any ParsableCommand.Type] = [VaultVerifyCommand.self, VaultStatusCommand.self, VaultLogCommand.self]
}
