internal import ArgumentParser
internal import Coffer

struct ListCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List the keys of a domain and the store each is in; no value is shown.",
    discussion: "With --plain the vault is not touched.", aliases: ["ls"])

  @Flag(help: "Only preferences; needs no vault.") var plain = false
  @OptionGroup var router: RouterOptions
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var output: JSONOption
  @OptionGroup var common: CommonOptions
  var wantsJSON: Bool { output.json }

  func perform(_ session: Session) throws {
    try CredentialSources(options: unlocking, session: session).claimInput()
    let router = try ShellRouter(router, unlocking, session)
    let preferences = try router.plain.names()
    let secrets = plain ? [] : try router.vault()?.names() ?? []
    let rows = (preferences.map { Row(key: $0, store: "defaults") } + secrets.map { Row(key: $0, store: "vault") })
      .sorted { ($0.key, $0.store) < ($1.key, $1.store) }
    if output.json {
      try Output.line(JSONText.encode(rows))
    } else if !rows.isEmpty {
      try Output.line(Columns.align(rows.map { [$0.key, $0.store] }))
    }
    if let twice = Swift.Set(preferences).intersection(secrets).min() { throw router.inBoth(twice) }
  }

  private struct Row: Encodable { let key: String, store: String }
}
