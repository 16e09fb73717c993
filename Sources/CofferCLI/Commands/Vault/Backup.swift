internal import ArgumentParser
internal import Coffer
internal import CofferPlatform
internal import CofferStorage
internal import CofferTerminal
internal import CofferVault
internal import SystemPackage

struct BackupCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "backup", abstract: "Write a sealed copy of the vault to a new file. Needs no secret.",
    discussion: """
      Whatever opens the vault now opens the copy, also after the passphrase is changed. Nothing is replaced. An older copy of \
      the vault that was put back is refused.
      """)

  static var idleOptions: Set<String> { ["yes"] }

  @Argument(help: ArgumentHelp("The new file.", valueName: "file")) var file: String
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    try GivenPath.check(file)
    let progress = context.progress(json: options.json, .backingUp)
    defer { progress.clear() }
    let report = try context.lockedVault().backup(to: FilePath(file), progress: progress.show)
    progress.clear()
    LastBackup.remember(file, of: report.id, context.places)
    if options.json {
      return try Output.line(
        JSONText.encode(Answer(file: file, id: report.id.description, generation: report.generation)))
    }
    context.done(
      "backed up to \(file), at generation \(report.generation); whatever opens the vault now opens the copy",
      elsewhere: "backed up vault \(report.id) at generation \(report.generation) to \(file)")
  }

  private struct Answer: Encodable { let file: String, id: String, generation: UInt64 }
}

struct RestoreCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "restore", abstract: "Put a backup in the vault's place; what was there is kept beside it.",
    discussion: """
      The backup is unlocked and verified throughout before anything changes. It becomes the vault's newest commit, for programs \
      that have the vault open as well. The unlocking options open the backup: give the secrets of its time. The vault keeps the \
      slots that it has: what opened the backup, and what the environment names, is tried on it too, and a terminal is asked for \
      its passphrase where neither opens it. Where nothing does, the backup's slots open the vault again: they are named, and \
      that takes a yes at the terminal, or --older-key. At a terminal a question is asked before something is replaced.
      """)

  static var idleOptions: Set<String> { [] }

  @Argument(help: ArgumentHelp("The backup.", valueName: "file")) var file: String
  @Flag(help: "Also in the place of another vault, of which it is no backup.") var replace = false
  @Flag(help: "Also with the backup's slots, though the key was changed since: secrets that were removed open the vault again.")
  var olderKey = false
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    try context.checkIsNoMirror()
    try context.checkName()
    try GivenPath.check(file)
    let progress = context.progress(json: options.json, .restoring)
    defer { progress.clear() }
    let report = try restore(context, progress)
    progress.clear()
    if options.json { return try Output.line(JSONText.encode(Answer(report))) }
    try Output.sentence(
      "\(Sign.doneAtTerminal)restored \(counted(report.items, "item")) of vault \(report.id), from its generation "
        + "\(report.restored); it is now at \(report.generation)"
    )
    if let kept = report.kept { try Output.sentence("what was there before is in \(Printable.line(kept.description))") }
    for line in ReturnedSlots.lines(report.returnedSlots) { try Output.sentence(line) }
    context.note("the vault has a new key, and its backups are of older ones: make a new backup: coffer backup FILE")
    try NewInvitation.show(report.invitation, afterNewKeyFor: slots(context), context)
  }

  /// The restored vault's; none if it cannot be read, as it is restored all the same.
  private func slots(_ context: Context) -> [SlotSummary] {
    do throws(StoreError) { return try LockedVault.open(context.places.vault, options: .withoutPins).slots } catch { return [] }
  }

  private func restore(_ context: Context, _ progress: Progress) throws -> RestoreReport {
    let backup = try RestorableBackup(FilePath(file), toRestoreAt: context.places.vault)
    if context.showsPlans, !context.places.vault.isFree {
      let question = "Put this backup of vault \(backup.id) in the place of what is at \(context.places.vault.short)?"
      guard try context.agrees(question) else {
        throw Failure(StoreError(.refused, "nothing was restored", cure: "y at the question, or --yes"))
      }
    }
    let opening = try Opening(backup.slots, of: .file(FilePath(file)), context)
    var first = Optional(backup)
    return try opening.open { credentials, _ in
      let backup = try first.take() ?? RestorableBackup(FilePath(file), toRestoreAt: context.places.vault)
      return try restore(backup, with: credentials, context, progress)
    }
  }

  /// Restores with the backup's secrets. If they do not open the current vault, asks at the terminal.
  private func restore(
    _ backup: consuming RestorableBackup, with credentials: consuming Credentials, _ context: Context, _ progress: Progress
  ) throws -> RestoreReport {
    let id = backup.id
    let again = try credentials.copied()
    var isAsked = false
    do {
      return try backup.restore(
        with: credentials, present: CredentialSources(context).others(), options: context.vaultOptions(), replacing: replace,
        acceptingOlderKey: olderKey,
        confirm: { _ in
          isAsked = true
          return false
        }, progress: progress.show)
    } catch {
      progress.clear()
      guard isAsked, let terminal = Terminal() else { throw error }
      let present = try presentCredentials(of: id, context, terminal)
      let second = try RestorableBackup(FilePath(file), toRestoreAt: context.places.vault)
      let agreement = Agreement()
      do {
        return try second.restore(
          with: again, present: present, options: context.vaultOptions(), replacing: replace,
          confirm: { slots in agreement.answer { try ReturnedSlots.confirm(slots, terminal) } }, progress: progress.show)
      } catch { throw agreement.error(after: error) }
    }
  }

  /// The current vault's credentials from the terminal; empty if it is no vault with a passphrase.
  private func presentCredentials(of id: VaultID, _ context: Context, _ terminal: borrowing Terminal) throws -> Credentials {
    var credentials = Credentials()
    let slots: [SlotSummary]
    do throws(StoreError) {
      let present = try LockedVault.open(context.places.vault, options: .withoutPins)
      slots = present.id == id ? present.slots : []
    } catch { slots = [] }  // What is wrong with it, the restore has to do with.
    guard slots.contains(where: { $0.kind == .passphrase }) else { return credentials }
    credentials.passphrase = try terminal.optionalSecret(
      Question(
        "Passphrase of the vault at \(context.places.vault), which is not opened by the backup's (nothing, if there is none)"))
    return credentials
  }

  private struct Answer: Encodable {
    let id: String, restored: UInt64, generation: UInt64, items: Int, kept: String?, returnedSlots: [SlotJSON]?
    let invitation: String
    init(_ report: RestoreReport) {
      id = report.id.description
      restored = report.restored
      generation = report.generation
      items = report.items
      kept = report.kept?.description
      returnedSlots = ReturnedSlots.json(report.returnedSlots)
      invitation = report.invitation.description
    }
  }
}

struct VaultRepairCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "repair", abstract: "Mend a damaged header from its copy, or rebuild a lost state from the records that open.",
    discussion: """
      A backup is better: a rebuilt vault cannot prove that nothing is missing. Wherever something may be lost, the vault as it \
      was is kept in a file beside it. Nothing is done in silence; without damage nothing is done at all.
      """)

  @Flag(help: "Also where records do not fit a readable state: drop what does not open, and believe what does.") var rebuild =
    false
  @Flag(help: "Also with a key older than one that this machine has seen: secrets that were removed since open the vault again.")
  var olderKey = false
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    try context.checkIsNoMirror()
    let locked = try context.lockedVault()
    let agreement = Agreement()
    let report: RepairReport
    do {
      report = try context.opening(locked) { credentials in
        try locked.repair(
          with: credentials, rebuilding: rebuild, acceptingOlderKey: olderKey,
          confirm: { slots in
            agreement.answer { if let terminal = Terminal() { try ReturnedSlots.confirm(slots, terminal) } else { false } }
          })
      }
    } catch { throw agreement.error(after: error) }
    if options.json {
      try Output.line(JSONText.encode(Answer(report)))
    } else {
      for line in Self.lines(report) { try Output.line(line) }
    }
    guard report.records > 0 || report.droppedRecords == 0 else { throw Self.empty(report, context) }
  }

  /// A repair with a key that is not that of the records has made a vault, and kept nothing.
  private static func empty(_ report: RepairReport, _ context: Context) -> StoreError {
    let dropped = report.droppedRecords
    return StoreError(
      .damaged,
      (dropped == 1 ? "the only record does not open" : "none of the \(dropped) records opens")
        + " with this key, and the vault is empty now",
      place: context.places.vault.description,
      cure: report.kept.map { "restore a backup; the vault as it was is in \($0)" } ?? "restore a backup")
  }

  private static func nothing(_ report: RepairReport) -> String {
    "Nothing to repair. " + VaultVerifyCommand.intact(report.records) + "."
  }

  private static func lines(_ report: RepairReport) -> [String] {
    guard !report.foundNothing else { return [nothing(report)] }
    var lines: [String] = []
    if report.mendedHeader { lines.append("mended: a copy of the header, from the other one") }
    guard report.rebuiltState else { return lines + ReturnedSlots.lines(report.returnedSlots) }
    lines.append(
      "rebuilt: the state, from \(report.records == 1 ? "1 record that opens" : "\(report.records) records that open"); the "
        + "vault is now at generation \(report.generation)"
    )
    lines.append("dropped, as they do not open: records: \(report.droppedRecords), log entries: \(report.droppedLogRows)")
    if let kept = report.kept { lines.append("kept: the vault as it was, in \(Printable.line(kept.description))") }
    lines += report.unproven.map { "not proven: \($0)" }
    return lines + ReturnedSlots.lines(report.returnedSlots)
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
      kept = report.kept?.description
      unproven = report.unproven
      returnedSlots = ReturnedSlots.json(report.returnedSlots)
    }
  }
}

/// The slots of an older key, which open the vault again.
enum ReturnedSlots {
  static func lines(_ slots: [VaultStatus.Slot]) -> [String] {
    guard !slots.isEmpty else { return [] }
    return slots.map { "opens it again: \($0.summary.kind) \($0.summary.id) \(Printable.line($0.label))".trimmedEnd }
      + ["change the key now: coffer vault rotate --only SLOT ..., with the slots that shall stay"]
  }

  static func json(_ slots: [VaultStatus.Slot]) -> [SlotJSON]? { slots.isEmpty ? nil : slots.map(SlotJSON.init) }

  static func confirm(_ slots: [VaultStatus.Slot], _ terminal: borrowing Terminal) throws -> Bool {
    Output.message("The vault would open with these slots, and with no other; any of them may have been removed since:")
    Output.message(SlotTable.text(slots))
    return try terminal.confirm("Shall all of them open it again?")
  }
}
