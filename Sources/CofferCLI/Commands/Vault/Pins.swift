internal import ArgumentParser
internal import Coffer

struct PinCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "pin", abstract: "What this machine remembers of the vault, to notice an older copy of the whole file.",
    discussion: """
      Each time a vault is opened or written, its newest commit is noted outside of it. An older copy, another vault in its place, or \
      one that went on without this machine's writes is then refused, with exit status 66, until you accept it.
      """,
    subcommands: [PinShowCommand.self, PinAcceptCommand.self])
}

struct PinShowCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Print what is remembered of the vault that stands there. Needs no secret.")

  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    let vault = try context.lockedVault()
    let memory = try vault.pinMemory()
    let answer = Answer(
      vault: vault.path.string, id: vault.id.description, expected: memory.expected?.description, generation: memory.seen,
      own: memory.own, pins: context.places.vaultOptions.pins?.string ?? "")
    if options.json { return try Output.line(JSONText.encode(answer)) }
    let seen = memory.seen.map { "generation \($0)" } ?? "never"
    try Output.line(
      Columns.align([
        ["vault", answer.vault], ["id", answer.id], ["expected here", answer.expected ?? "any vault"], ["seen", seen],
        ["last written here", memory.own.map { "generation \($0)" } ?? "never"], ["pins", answer.pins],
      ]))
  }

  private struct Answer: Encodable {
    let vault: String, id: String, expected: String?, generation: UInt64?, own: UInt64?, pins: String
  }
}

struct PinAcceptCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "accept", abstract: "Believe the vault as it stands there now: an older copy, or another vault.",
    discussion: """
      For a backup that you put back, or a vault that you replaced. Whoever put it there without you would want you to do this: \
      be sure first that the newer vault is lost, or is not wanted.
      """)

  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    let locked = try context.lockedVault()
    let vault = try locked.unlockAcceptingPin(with: context.credentials(for: locked))
    let status = try vault.status()
    if options.json {
      return try Output.line(JSONText.encode(Answer(id: vault.id.description, generation: status.generation)))
    }
    try Output.line("vault \(vault.id) at generation \(status.generation) is expected at \(locked.path) from now on")
  }

  private struct Answer: Encodable { let id: String, generation: UInt64 }
}
