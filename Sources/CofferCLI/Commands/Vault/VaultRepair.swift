internal import ArgumentParser
internal import Coffer

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
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var output: JSONOption
  @OptionGroup var common: CommonOptions
  var wantsJSON: Bool { output.json }

  func perform(_ session: Session) throws {
    try CredentialSources(options: unlocking, session: session).claimInput()
    let locked = try session.lockedVault(unlocking)
    let report = try locked.repair(
      with: session.credentials(for: locked, unlocking), rebuilding: rebuild, acceptingOlderKey: olderKey)
    if output.json { return try Output.line(JSONText.encode(Answer(report))) }
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
