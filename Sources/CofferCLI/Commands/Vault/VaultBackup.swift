internal import ArgumentParser
internal import Coffer
internal import SystemPackage

struct VaultBackup: Command {
  static let configuration = CommandConfiguration(
    commandName: "backup", abstract: "Write a sealed copy of the vault to a new file. Needs no secret.",
    discussion: """
      Whatever opens the vault now opens the copy, also after the passphrase is changed. Nothing is replaced. An older copy of the \
      vault that was put back is refused.
      """)

  @Argument(help: ArgumentHelp("The new file.", valueName: "file")) var file: String
  @OptionGroup var output: JSONOption
  @OptionGroup var common: CommonOptions
  var wantsJSON: Bool { output.json }

  func perform(_ session: Session) throws {
    let progress = Progress(session, json: output.json, unit: " pages")
    defer { progress.clear() }
    let report = try session.lockedVault().backup(to: FilePath(file), progress: progress.show)
    progress.clear()
    if output.json {
      return try Output.line(
        JSONText.encode(Answer(file: file, id: report.id.description, generation: report.generation)))
    }
    session.note("backed up vault \(report.id) at generation \(report.generation) to \(file)")
  }

  private struct Answer: Encodable { let file: String, id: String, generation: UInt64 }
}
