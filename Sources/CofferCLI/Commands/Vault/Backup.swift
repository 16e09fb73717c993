internal import ArgumentParser
internal import Coffer
internal import CofferStorage
internal import CofferVault
internal import SystemPackage

struct VaultBackup: Command {
  static let configuration = CommandConfiguration(
    commandName: "backup", abstract: "Write a sealed copy of the vault to a new file. Needs no secret.",
    discussion: """
      Whatever opens the vault now opens the copy, also after the passphrase is changed. Nothing is replaced. An older copy of the \
      vault that was put back is refused.
      """)

  @Argument(help: ArgumentHelp("The new file.", valueName: "file")) var file: String
  @OptionGroup var options: AnswerOptions

  func perform(_ session: Session) throws {
    let progress = Progress(session, json: options.json, unit: " pages")
    defer { progress.clear() }
    let report = try session.lockedVault().backup(to: FilePath(file), progress: progress.show)
    progress.clear()
    if options.json {
      return try Output.line(
        JSONText.encode(Answer(file: file, id: report.id.description, generation: report.generation)))
    }
    session.note("backed up vault \(report.id) at generation \(report.generation) to \(file)")
  }

  private struct Answer: Encodable { let file: String, id: String, generation: UInt64 }
}

struct VaultRestore: Command {
  static let configuration = CommandConfiguration(
    commandName: "restore", abstract: "Put a backup in the vault's place; what was there is kept beside it.",
    discussion: """
      The backup is unlocked and verified throughout before anything changes. It becomes the vault's newest commit, for programs \
      that have the vault open as well. The unlocking options open the backup: give the secrets of its time.
      """)

  @Argument(help: ArgumentHelp("The backup.", valueName: "file")) var file: String
  @Flag(help: "Also in the place of another vault, of which it is no backup.") var force = false
  @OptionGroup var options: Opening<AnswerOptions>

  func perform(_ session: Session) throws {
    let sources = CredentialSources(session)
    try GivenPath.check(file)
    let progress = Progress(session, json: options.json)
    defer { progress.clear() }
    let backup = try RestorableBackup(FilePath(file), toRestoreAt: session.places.vault)
    let credentials = try sources.credentials(for: backup.slots, of: FilePath(file))
    let report = try backup.restore(
      with: credentials, options: session.vaultOptions(), replacing: force, progress: progress.show)
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
