internal import ArgumentParser
internal import Coffer

struct PinShow: Command {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Print what is remembered of the vault that stands there. Needs no secret.")

  @OptionGroup var output: JSONOption
  @OptionGroup var common: CommonOptions
  var wantsJSON: Bool { output.json }

  func perform(_ session: Session) throws {
    let vault = try session.lockedVault()
    let memory = try vault.pinMemory()
    let answer = Answer(
      vault: vault.path.string, id: vault.id.description, expected: memory.expected?.description, generation: memory.seen,
      own: memory.own, pins: session.places.vaultOptions.pins?.string ?? "")
    if output.json { return try Output.line(JSONText.encode(answer)) }
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
