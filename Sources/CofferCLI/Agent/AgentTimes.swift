internal import ArgumentParser
internal import Coffer
internal import CofferAgent

struct AgentTimes: ParsableArguments {
  @Option(help: ArgumentHelp("Lock after this time without use: 90s, 15m. [default: 15m]", valueName: "time"))
  var idle: AgentTime?
  @Option(help: ArgumentHelp("Lock after this time even if in use: 8h, 1d. [default: 8h]", valueName: "time"))
  var lifetime: AgentTime?

  var isEmpty: Bool { idle == nil && lifetime == nil }

  var arguments: [String] {
    (idle.map { ["--idle", $0.text] } ?? []) + (lifetime.map { ["--lifetime", $0.text] } ?? [])
  }

  func settings(_ context: Context) throws -> AgentSettings {
    var settings = AgentSettings(
      folder: context.places.run, vault: context.places.vault, options: try context.vaultOptions(),
      idle: idle?.duration ?? AgentSettings.standardIdle, lifetime: lifetime?.duration ?? AgentSettings.standardLifetime)
    settings.caches = context.places.caches
    return settings
  }
}
