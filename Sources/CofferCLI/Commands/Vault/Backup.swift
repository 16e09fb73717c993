internal import ArgumentParser
internal import Coffer
internal import CofferFormats
internal import CofferPlatform
internal import CofferTerminal
internal import CofferVault
internal import CofferVaultRows
internal import FoundationEssentials
internal import SystemPackage

struct BackupCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "backup", abstract: "Write a sealed copy of the vault to a new file. Needs no secret.",
    discussion: """
      Today's passphrase, key files and recovery code open the copy, even if they are changed later. An existing file is not \
      replaced. An older copy that was put in the vault's place is refused. Preferences are not in it.
      """)

  @Argument(help: ArgumentHelp("The new file.", valueName: "file")) var file: String
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    try GivenPath.check(file)
    let report = try context.showing(.backingUp) { try context.lockedVault().backup(to: FilePath(file), progress: $0.show) }
    LastBackup.remember(file, of: report.id, context.places)
    if options.json { return try Output.json(Answer(file: file, id: report.id.description, generation: report.generation)) }
    context.done(
      "backed up to \(file); coffer vault verify \(CommandText.quoted(file)) checks it",
      elsewhere: "backed up vault \(report.id) at generation \(report.generation) to \(file)")
  }

  private struct Answer: Encodable { let file: String, id: String, generation: UInt64 }
}

struct RestoreCommand: OpeningCommand, AskingCommand {
  static let configuration = CommandConfiguration(
    commandName: "restore", abstract: "Replace the vault with a backup; keep the old file beside it.",
    discussion: """
      The backup is unlocked and verified throughout before anything changes. It becomes the vault's newest commit, also for \
      programs that have the vault open. The unlocking options open the backup: give the secrets of its time. The vault keeps \
      its slots: the backup's secret and those in the environment are tried on it too, and a terminal asks for its passphrase \
      if neither opens it. If nothing does, the backup's slots open the vault again: they are listed, and need a yes at the \
      terminal, or --older-key. A terminal asks before anything is replaced.
      """)

  @Argument(help: ArgumentHelp("The backup.", valueName: "file")) var file: String
  @Flag(help: "Replace the vault even if this is a backup of another.") var replace = false
  @Flag(help: "Allow the backup's slots after a key change: removed secrets open the vault again.") var olderKey = false
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    try context.checkIsNoMirror()
    try context.checkName()
    try GivenPath.check(file)
    let report = try context.showing(.restoring) { try restore(context, $0) }
    if options.json { return try Output.json(Answer(report)) }
    try Output.sentence(
      "\(Sign.doneAtTerminal)restored \(counted(report.items, "item")) of vault \(report.id), from its generation "
        + "\(report.restored); it is now at \(report.generation)")
    if let kept = report.kept { try Output.sentence("the previous vault is in \(Printable.line(kept.description))") }
    if report.kept == nil, context.places.vault.url != nil { context.note(ServerRole.advice) }
    for line in ReturnedSlots.lines(report.returnedSlots) { try Output.sentence(line) }
    context.note("the vault has a new key, and its backups have older ones; make a new one: coffer backup FILE")
    try NewInvitation.show(report.invitation, afterNewKeyFor: present(context)?.slots ?? [], context)
  }

  /// Nil if it cannot be read, as it is restored all the same.
  private func present(_ context: Context) -> LockedVault? {
    do throws(StoreError) { return try LockedVault.open(context.places.vault, options: .withoutPins) } catch { return nil }
  }

  /// Says what is known of both without a secret.
  private func question(_ backup: VaultID, _ context: Context) -> String {
    let time = LocalTime(), place = context.places.vault
    let date = { (path: FilePath) -> Date? in
      do throws(StoreError) {
        return try FileStatus(at: path).map { Date(timeIntervalSince1970: Double($0.modified) / 1e9) }
      } catch { return nil }
    }
    let written = place.path.flatMap { [date($0), date(FilePath("\($0)-wal"))].compactMap(\.self).max() }
    let facts = [items(context).map { counted($0, "item") }, written.map { "last written \(time.ago($0))" }].compactMap(\.self)
    let isOther = present(context).map { $0.id != backup } ?? false
    return "Replace \(place.short)" + (facts.isEmpty ? "" : " (\(facts.joined(separator: ", ")))")
      + (isOther ? " with this backup of another vault" : " with this backup")
      + (date(FilePath(file)).map { " of \(time.minute($0))" } ?? "") + "?"
  }

  /// Nil if no agent holds the vault unlocked.
  private func items(_ context: Context) -> Int? {
    do { return try context.agentItems()?.find(ItemQuery(otherThan: LoginItems.pointers)).count } catch { return nil }
  }

  private func restore(_ context: Context, _ progress: Progress) throws -> RestoreReport {
    guard !FileFacts.isAbsent(FilePath(file)) else {
      let cure = "check the path; coffer undelete \(CommandText.quoted(file)) brings back a deleted item"
      throw StoreError(.io(ENOENT), "the file does not exist", place: file, cure: cure)
    }
    let backup = try RestorableBackup(FilePath(file), toRestoreAt: context.places.vault)
    if !context.json, !context.places.vault.isFree { try context.checkAgreed(question(backup.id, context), "restored") }
    let opening = try Opening(backup.slots, of: .file(FilePath(file)), context)
    var first = Optional(backup)
    return try opening.open { credentials, _ in
      let backup = try first.take() ?? RestorableBackup(FilePath(file), toRestoreAt: context.places.vault)
      return try restore(backup, with: credentials, context, progress)
    }
  }

  /// If the backup's secrets do not open the current vault, asks at the terminal.
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
        }, uncounted: LoginItems.pointers, progress: progress.show)
    } catch {
      progress.clear()
      guard isAsked, let terminal = Terminal() else { throw error }
      return try Agreement.within { agreement in
        let current = try currentCredentials(of: id, context, terminal)
        let second = try RestorableBackup(FilePath(file), toRestoreAt: context.places.vault)
        return try second.restore(
          with: again.copied(), present: current, options: context.vaultOptions(), replacing: replace,
          confirm: { slots in agreement.answer { try ReturnedSlots.confirm(slots, terminal) } },
          uncounted: LoginItems.pointers, progress: progress.show)
      }
    }
  }

  /// Empty if it is no vault with a passphrase.
  private func currentCredentials(of id: VaultID, _ context: Context, _ terminal: borrowing Terminal) throws -> Credentials {
    var credentials = Credentials()
    guard let current = present(context), current.id == id, current.slots.contains(where: { $0.kind == .passphrase }) else {
      return credentials
    }
    credentials.passphrase = try terminal.optionalSecret(
      Question(
        "Passphrase of the vault at \(context.places.vault), which the backup's does not open (Enter if there is none)"))
    return credentials
  }

  private struct Answer: Encodable {
    let id: String, restored: UInt64, generation: UInt64, items: Int, kept: String?, returnedSlots: [SlotJSON]?
    let invitation: String
    init(_ report: RestoreReport) {
      (id, restored, generation, items) = (report.id.description, report.restored, report.generation, report.items)
      (kept, returnedSlots) = (report.kept?.description, ReturnedSlots.json(report.returnedSlots))
      invitation = report.invitation.description
    }
  }
}

struct VaultRepairCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "repair", abstract: "Repair a damaged header from its copy, or rebuild a lost state.",
    discussion: """
      A backup is better: a rebuilt vault cannot prove that nothing is missing. The state is rebuilt from the records that \
      open. If something may be lost, the vault as it was is kept in a file beside it. Every repair is reported; without damage \
      nothing is done.
      """)

  @Flag(help: "Rebuild even a readable state, if records do not fit it: drop those that do not open, trust the others.")
  var rebuild = false
  @Flag(help: "Allow a key older than one that this machine has seen: removed secrets open the vault again.") var olderKey = false
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    try context.checkIsNoMirror()
    let locked = try context.lockedVault()
    let report = try Agreement.within { agreement in
      try context.opening(locked) { credentials in
        try locked.repair(
          with: credentials, rebuilding: rebuild, acceptingOlderKey: olderKey,
          confirm: { slots in
            agreement.answer { if let terminal = Terminal() { try ReturnedSlots.confirm(slots, terminal) } else { false } }
          })
      }
    }
    if options.json { try Output.json(Answer(report)) } else { for line in Self.lines(report) { try Output.line(line) } }
    guard report.records > 0 || report.droppedRecords == 0 else { throw Self.empty(report, context) }
  }

  /// A repair with a key that is not that of the records has made a vault, and kept nothing.
  private static func empty(_ report: RepairReport, _ context: Context) -> StoreError {
    let dropped = report.droppedRecords
    return StoreError(
      .damaged,
      (dropped == 1 ? "the only record does not open" : "none of the \(dropped) records opens")
        + " with this key; the vault is now empty",
      place: context.places.vault.description,
      cure: report.kept.map { "restore a backup; the old vault is in \($0)" } ?? "restore a backup")
  }

  private static func lines(_ report: RepairReport) -> [String] {
    guard !report.foundNothing else { return ["Nothing to repair. " + VaultVerifyCommand.intact(report.records) + "."] }
    var lines: [String] = []
    if report.mendedHeader { lines.append("repaired: a copy of the header, from the other one") }
    guard report.rebuiltState else { return lines + ReturnedSlots.lines(report.returnedSlots) }
    lines.append(
      "rebuilt: the state, from \(report.records == 1 ? "1 record that opens" : "\(report.records) records that open"); the "
        + "vault is now at generation \(report.generation)")
    lines.append("dropped because they do not open: records: \(report.droppedRecords), log entries: \(report.droppedLogRows)")
    if let kept = report.kept { lines.append("kept: the old vault, in \(Printable.line(kept.description))") }
    lines += report.unproven.map { "not proven: \($0)" }
    return lines + ReturnedSlots.lines(report.returnedSlots)
  }

  private struct Answer: Encodable {
    let mendedHeader: Bool, rebuiltState: Bool, droppedRecords: Int, droppedLogRows: Int, items: Int, generation: UInt64
    let kept: String?, unproven: [String], returnedSlots: [SlotJSON]?

    init(_ report: RepairReport) {
      (mendedHeader, rebuiltState, droppedRecords) = (report.mendedHeader, report.rebuiltState, report.droppedRecords)
      (droppedLogRows, items, generation) = (report.droppedLogRows, report.items, report.generation)
      (kept, unproven, returnedSlots) = (report.kept?.description, report.unproven, ReturnedSlots.json(report.returnedSlots))
    }
  }
}

/// The slots of an older key, which open the vault again.
enum ReturnedSlots {
  static func lines(_ slots: [VaultStatus.Slot]) -> [String] {
    guard !slots.isEmpty else { return [] }
    return slots.map { "opens it again: \($0.summary.kind) \($0.summary.id) \(Printable.line($0.label))".trimmedEnd }
      + ["change the key now: coffer vault rotate --only SLOT ..., with the slots to keep"]
  }

  static func json(_ slots: [VaultStatus.Slot]) -> [SlotJSON]? { slots.isEmpty ? nil : slots.map(SlotJSON.init) }

  static func confirm(_ slots: [VaultStatus.Slot], _ terminal: borrowing Terminal) throws -> Bool {
    Output.message("Only these slots would open the vault; any of them may have been removed since:")
    Output.message(SlotTable.text(slots))
    return try terminal.confirm("Let all of them open it again?")
  }
}
