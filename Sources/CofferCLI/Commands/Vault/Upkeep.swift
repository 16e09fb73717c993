internal import ArgumentParser
internal import Coffer
internal import CofferAgent
internal import CofferFormats
internal import CofferTerminal
internal import CofferVault

struct VaultVerifyCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify", abstract: "Check every record of the vault, or of a backup; nothing is decrypted.")

  @Argument(help: ArgumentHelp("A backup, in place of the vault.", valueName: "file")) var file: String?
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var given: AnswerOptions

  var options: AnswerOptions {
    var options = given
    // Not the vault of that name.
    options.vault = file.map { $0.contains("/") ? $0 : "./\($0)" } ?? given.vault
    return options
  }

  func validate() throws {
    guard file == nil || given.vault == nil else { throw ValidationError("give FILE or --vault, not both") }
  }

  func perform(_ context: Context) throws {
    let report = try verify(context)
    if options.json { return try Output.json(["records": report.records, "buckets": report.buckets]) }
    try Output.line(Self.intact(report.records) + ".")
  }

  static func intact(_ records: Int) -> String {
    records == 1 ? "The only record is intact" : "All \(grouped(records)) records are intact"
  }

  private func verify(_ context: Context) throws -> VerifyReport {
    switch try context.openedVault() {
    case .byAgent(let agent):
      context.spin("Verifying")
      defer { StatusLine.clear() }
      return try agent.ask(Calls.verify)
    case .here(let vault): return try context.showing(.verifying) { try vault.verify(progress: $0.show) }
    }
  }
}

struct VaultLogCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "log", abstract: "Print the log: each change with its author, item and time, never a value.",
    discussion: """
      The whole chain of entries is checked first: if a row was changed, added or removed, the command exits with 66. An item \
      that no longer exists appears by its place in the vault, which is always the same for a name. The newest entry is last, \
      but first at a terminal. A change through an agent names the program that asked the agent. --uses prints the log of \
      this machine's uses instead: each login, signature and decryption by a key of the vault, refused ones too.
      """)

  @Option(help: ArgumentHelp("Only the newest N entries.", valueName: "n")) var limit: Int?
  @Flag(help: "Print the uses of keys and secrets on this machine instead.") var uses = false
  @Flag(help: .internalItems) var `internal` = false
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func validate() throws { if let limit, limit < 1 { throw ValidationError("--limit takes a number of entries, 1 or more") } }

  func perform(_ context: Context) throws {
    if uses { return try UseSheet.show(most: limit, context) }
    let most = `internal` ? limit : nil
    var entries: [VaultLogEntry]
    let slots: [VaultStatus.Slot]
    switch try context.openedVault() {
    case .byAgent(let agent):
      entries = try agent.ask(Calls.log, most.map { UInt64(clamping: $0) })
      slots = try Output.isTerminal ? agent.ask(Calls.describe).status.slots : []
    case .here(let vault): (entries, slots) = (try vault.log(limit: most), try Output.isTerminal ? vault.slots() : [])
    }
    var logins: [UInt64: String] = [:]
    if !`internal` {
      for entry in entries {
        if let item = entry.item, item.service == LoginItems.pointers { logins[entry.sequence] = item.account }
      }
      entries.removeAll { $0.item?.service == LoginItems.pointers }
      if let limit { entries = entries.suffix(limit) }
    }
    if options.json { return try Output.json(entries.map(Row.init)) }
    if Output.isTerminal {
      // Numbers of users are those of this machine in a file of this machine alone.
      return try Pager.show(
        LogSheet(slots: slots, namesUsers: context.places.vault.path != nil, logins: logins).text(entries, .output))
    }
    try Output.write(
      entries.map { entry in
        Columns.tabs([
          [
            String(entry.sequence), Moment.text(entry.date), entry.event.rawValue,
            entry.item?.description ?? entry.index ?? entry.slot.map { "slot \($0)" } ?? "", entry.program,
            "user \(entry.user)", "process \(entry.process)",
          ]
        ]) + "\n"
      }.joined())
  }

  private struct Row: Encodable {
    let sequence: UInt64, date: String, event: String, user: UInt32, process: UInt32, program: String
    let service: String?, account: String?, field: String?, index: String?, slot: String?, openedWith: String

    init(_ entry: VaultLogEntry) {
      (sequence, date, event, user) = (entry.sequence, Moment.text(entry.date), entry.event.rawValue, entry.user)
      (process, program, service, account) = (entry.process, entry.program, entry.item?.service, entry.item?.account)
      (field, index, slot) = (entry.item.flatMap { $0.field.isEmpty ? nil : $0.field }, entry.index, entry.slot)
      openedWith = entry.openedWith
    }
  }
}
