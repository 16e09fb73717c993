internal import ArgumentParser
internal import Coffer
internal import CofferStorage
internal import CofferVault
internal import SystemPackage

struct VaultBackupCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "backup", abstract: "Write a sealed copy of the vault to a new file. Needs no secret.",
    discussion: """
      Whatever opens the vault now opens the copy, also after the passphrase is changed. Nothing is replaced. An older copy of the \
      vault that was put back is refused.
      """)

  @Argument(help: ArgumentHelp("The new file.", valueName: "file")) var file: String
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    let progress = Progress(context, json: options.json, unit: " pages")
    defer { progress.clear() }
    let report = try context.lockedVault().backup(to: FilePath(file), progress: progress.show)
    progress.clear()
    if options.json {
      return try Output.line(
        JSONText.encode(Answer(file: file, id: report.id.description, generation: report.generation)))
    }
    context.note("backed up vault \(report.id) at generation \(report.generation) to \(file)")
  }

  private struct Answer: Encodable { let file: String, id: String, generation: UInt64 }
}

struct VaultRestoreCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "restore", abstract: "Put a backup in the vault's place; what was there is kept beside it.",
    discussion: """
      The backup is unlocked and verified throughout before anything changes. It becomes the vault's newest commit, for programs \
      that have the vault open as well. The unlocking options open the backup: give the secrets of its time.
      """)

  @Argument(help: ArgumentHelp("The backup.", valueName: "file")) var file: String
  @Flag(help: "Also in the place of another vault, of which it is no backup.") var force = false
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    let sources = CredentialSources(context)
    try GivenPath.check(file)
    let progress = Progress(context, json: options.json)
    defer { progress.clear() }
    let backup = try RestorableBackup(FilePath(file), toRestoreAt: context.places.vault)
    let credentials = try sources.credentials(for: backup.slots, of: FilePath(file))
    let report = try backup.restore(
      with: credentials, options: context.vaultOptions(), replacing: force, progress: progress.show)
    progress.clear()
    if options.json { return try Output.line(JSONText.encode(Answer(report))) }
    try Output.line(
      "restored \(report.items) items of vault \(report.id), from its generation \(report.restored); it is now at \(report.generation)"
    )
    if let kept = report.kept { try Output.line("what was there before is in \(Printable.line(kept.string))") }
  }

  private struct Answer: Encodable {
    let id: String, restored: UInt64, generation: UInt64, items: Int, kept: String?
    init(_ report: RestoreReport) {
      id = report.id.description
      restored = report.restored
      generation = report.generation
      items = report.items
      kept = report.kept?.string
    }
  }
}

struct VaultRepairCommand: OpeningCommand {
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
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    let locked = try context.lockedVault()
    let report = try locked.repair(
      with: context.credentials(for: locked), rebuilding: rebuild, acceptingOlderKey: olderKey)
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

/// Copy the whole vault, put a copy back, and mend damage.
enum RecoveryCommands {
  static let all: [any ParsableCommand.Type] = [VaultBackupCommand.self, VaultRestoreCommand.self, VaultRepairCommand.self]
}
