internal import ArgumentParser
internal import Coffer

struct VaultVerify: Command {
  static let configuration = CommandConfiguration(
    commandName: "verify", abstract: "Check every record of the vault; nothing is decrypted.")

  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var output: JSONOption
  @OptionGroup var common: CommonOptions
  var wantsJSON: Bool { output.json }

  func perform(_ session: Session) throws {
    try CredentialSources(options: unlocking, session: session).claimInput()
    let vault = try session.unlockedVault(unlocking)
    let progress = Progress(session, json: output.json)
    defer { progress.clear() }
    let report = try vault.verify(progress: progress.show)
    progress.clear()
    if output.json { return try Output.line(JSONText.encode(["records": report.records, "buckets": report.buckets])) }
    let count = report.records
    try Output.line(
      count == 1
        ? "1 record is where and what it was when it was sealed"
        : "\(count) records are where and what they were when they were sealed")
  }
}
