internal import ArgumentParser
internal import CofferMemory
internal import CofferVault

struct VaultStatusCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "status", abstract: "Print what the unlocked vault says of itself.")

  @OptionGroup var options: Opening<AnswerOptions>

  func perform(_ session: Session) throws {
    let vault = try session.unlockedVault()
    let answer = Answer(vault.path.string, vault.id, try vault.status(), try vault.pinStatus(), try vault.logLength())
    if options.json { return try Output.line(JSONText.encode(answer)) }
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

struct VaultVerify: Command {
  static let configuration = CommandConfiguration(
    commandName: "verify", abstract: "Check every record of the vault; nothing is decrypted.")

  @OptionGroup var options: Opening<AnswerOptions>

  func perform(_ session: Session) throws {
    let vault = try session.unlockedVault()
    let progress = Progress(session, json: options.json)
    defer { progress.clear() }
    let report = try vault.verify(progress: progress.show)
    progress.clear()
    if options.json { return try Output.line(JSONText.encode(["records": report.records, "buckets": report.buckets])) }
    let count = report.records
    try Output.line(
      count == 1
        ? "1 record is where and what it was when it was sealed"
        : "\(count) records are where and what they were when they were sealed")
  }
}

struct VaultLog: Command {
  static let configuration = CommandConfiguration(
    commandName: "log", abstract: "Print who did what to which item when, never a value.",
    discussion: """
      The whole chain of entries is checked first: a row that was changed, added or taken away is exit status 66. An item that \
      no longer exists is shown by its place in the vault, which is the same for one name. The newest entry is last. \
      A change through an agent names the program that asked the agent for it.
      """)

  @Option(help: ArgumentHelp("Only the newest entries.", valueName: "n")) var limit: Int?
  @OptionGroup var options: Opening<AnswerOptions>

  func validate() throws {
    if let limit, limit < 1 { throw ValidationError("--limit is a number of entries, 1 or more") }
  }

  func perform(_ session: Session) throws {
    let entries = try session.unlockedVault().log(limit: limit)
    if options.json { return try Output.line(JSONText.encode(entries.map(Row.init))) }
    guard !entries.isEmpty else { return }
    try Output.line(
      Columns.align(
        entries.map { entry in
          [
            String(entry.sequence), Moment.text(entry.date), entry.event.rawValue,
            entry.item?.description ?? entry.index ?? entry.slot.map { "slot \($0)" } ?? "", entry.program,
            "user \(entry.user)", "process \(entry.process)",
          ]
        }))
  }

  private struct Row: Encodable {
    let sequence: UInt64, date: String, event: String, user: UInt32, process: UInt32, program: String
    let service: String?, account: String?, index: String?, slot: String?

    init(_ entry: VaultLogEntry) {
      sequence = entry.sequence
      date = Moment.text(entry.date)
      event = entry.event.rawValue
      user = entry.user
      process = entry.process
      program = entry.program
      service = entry.item?.service
      account = entry.item?.account
      index = entry.index
      slot = entry.slot
    }
  }
}

struct VaultRepairCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "repair", abstract: "Mend a damaged header from its copy, or rebuild a lost state from the records that open.",
    discussion: """
      A backup is better: a rebuilt vault cannot prove that nothing is missing. Wherever something may be lost, the vault as it was \
      is kept in a file beside it. Nothing is done in silence; without damage nothing is done at all.
      """)

  @Flag(help: "Also where records do not fit a readable state: drop what does not open, and believe what does.") var rebuild =
    false
  @Flag(help: "Also with a key older than one that this machine has seen: secrets that were removed since open the vault again.")
  var olderKey = false
  @OptionGroup var options: Opening<AnswerOptions>

  func perform(_ session: Session) throws {
    let locked = try session.lockedVault()
    let report = try locked.repair(
      with: session.credentials(for: locked), rebuilding: rebuild, acceptingOlderKey: olderKey)
    if options.json { return try Output.line(JSONText.encode(Answer(report))) }
    for line in Self.lines(report) { try Output.line(line) }
  }

  private static func nothing(_ report: RepairReport) -> String {
    let what = report.items == 1 ? "1 record is where and what it was" : "\(report.items) records are where and what they were"
    return "nothing to repair: " + what
  }

  private static func lines(_ report: RepairReport) -> [String] {
    guard !report.foundNothing else { return [nothing(report)] }
    var lines: [String] = []
    if report.mendedHeader { lines.append("mended: a copy of the header, from the other one") }
    guard report.rebuiltState else { return lines }
    lines.append(
      "rebuilt: the state, from \(report.items == 1 ? "1 record that opens" : "\(report.items) records that open"); the vault is now at generation \(report.generation)"
    )
    lines.append("dropped, as they do not open: records: \(report.droppedRecords), log entries: \(report.droppedLogRows)")
    if let kept = report.kept { lines.append("kept: the vault as it was, in \(Printable.line(kept.string))") }
    lines += report.unproven.map { "not proven: \($0)" }
    guard !report.returnedSlots.isEmpty else { return lines }
    lines += report.returnedSlots.map { "opens it again: \($0.summary.kind) \($0.summary.id) \(Printable.line($0.label))" }
    return lines + ["change the key now: coffer vault rotate --only SLOT ..., with the slots that shall stay"]
  }

  private struct Answer: Encodable {
    let mendedHeader: Bool, rebuiltState: Bool, droppedRecords: Int, droppedLogRows: Int, items: Int, generation: UInt64
    let kept: String?, unproven: [String], returnedSlots: [SlotJSON]?

    init(_ report: RepairReport) {
      mendedHeader = report.mendedHeader
      rebuiltState = report.rebuiltState
      droppedRecords = report.droppedRecords
      droppedLogRows = report.droppedLogRows
      items = report.items
      generation = report.generation
      kept = report.kept?.string
      unproven = report.unproven
      returnedSlots = report.returnedSlots.isEmpty ? nil : report.returnedSlots.map(SlotJSON.init)
    }
  }
}
