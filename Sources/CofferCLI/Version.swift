internal import ArgumentParser
internal import CCofferLibraries
internal import CofferTerminal
internal import CofferVaultRows

struct VersionCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "version", abstract: "Print the versions of the program, its format and its libraries.",
    discussion: "The commit is known if the build recorded it. 'coffer --version' prints one line.")
  static var idleOptions: Set<String> { ["yes", "home", "vault"] }

  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    let commit = String(cString: coffer_commit())
    let answer = Answer(
      commit: commit.isEmpty ? nil : commit, format: LibraryVersions.format, libsodium: LibraryVersions.sodium,
      sqlite: LibraryVersions.sqlite, version: ProgramVersion.number)
    guard !options.json else { return try Output.json(answer) }
    try Sheet.show([
      ["coffer", answer.version], ["commit", answer.commit ?? "unknown"], ["vault format", String(answer.format)],
      ["libsodium", answer.libsodium], ["SQLite", answer.sqlite],
    ])
  }

  private struct Answer: Encodable {
    @OrNull var commit: String?
    let format: Int, libsodium: String, sqlite: String, version: String
  }
}
