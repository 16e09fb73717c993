internal import ArgumentParser
internal import Coffer

struct PinAccept: Command {
  static let configuration = CommandConfiguration(
    commandName: "accept", abstract: "Believe the vault as it stands there now: an older copy, or another vault.",
    discussion: """
      For a backup that you put back, or a vault that you replaced. Whoever put it there without you would want you to do this: \
      be sure first that the newer vault is lost, or is not wanted.
      """)

  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var output: JSONOption
  @OptionGroup var common: CommonOptions
  var wantsJSON: Bool { output.json }

  func perform(_ session: Session) throws {
    try CredentialSources(options: unlocking, session: session).claimInput()
    let locked = try session.lockedVault(unlocking)
    let vault = try locked.unlockAcceptingPin(with: session.credentials(for: locked, unlocking))
    let status = try vault.status()
    if output.json {
      return try Output.line(JSONText.encode(Answer(id: vault.id.description, generation: status.generation)))
    }
    try Output.line("vault \(vault.id) at generation \(status.generation) is expected at \(locked.path) from now on")
  }

  private struct Answer: Encodable { let id: String, generation: UInt64 }
}
