internal import ArgumentParser
internal import Coffer

struct VaultLog: Command {
  static let configuration = CommandConfiguration(
    commandName: "log", abstract: "Print who did what to which item when, never a value.",
    discussion: """
      The whole chain of entries is checked first: a row that was changed, added or taken away is exit status 66. An item that \
      no longer exists is shown by its place in the vault, which is the same for one name. The newest entry is last. \
      A change through an agent names the program that asked the agent for it.
      """)

  @Option(help: ArgumentHelp("Only the newest entries.", valueName: "n")) var limit: Int?
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var output: JSONOption
  @OptionGroup var common: CommonOptions
  var wantsJSON: Bool { output.json }

  func validate() throws {
    if let limit, limit < 1 { throw ValidationError("--limit is a number of entries, 1 or more") }
  }

  func perform(_ session: Session) throws {
    try CredentialSources(options: unlocking, session: session).claimInput()
    let entries = try session.unlockedVault(unlocking).log(limit: limit)
    if output.json { return try Output.line(JSONText.encode(entries.map(Row.init))) }
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
