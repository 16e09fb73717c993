internal import ArgumentParser
internal import Coffer

struct EnvCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "env", abstract: "Print the paths in use.",
    discussion: "COFFER_HOME or --home moves all of them; otherwise the XDG variables apply.")

  @OptionGroup var output: JSONOption
  @OptionGroup var common: CommonOptions
  var wantsJSON: Bool { output.json }

  func perform(_ session: Session) throws {
    let places = session.places
    let rows = [
      ("vault", places.vault.string), ("defaults", places.defaults.appending("<domain>.plist").string),
      ("state", places.state.string), ("run", places.run?.string ?? ""),
    ]
    guard !output.json else {
      return try Output.line(JSONText.encode(Dictionary(uniqueKeysWithValues: rows)))
    }
    try Output.line(Columns.align(rows.map { [$0.0, $0.1.isEmpty ? "none: XDG_RUNTIME_DIR is not set" : $0.1] }))
  }
}
