internal import ArgumentParser
internal import Coffer

/// After how long the agent locks.
struct AgentTimes: ParsableArguments {
  @Option(help: ArgumentHelp("Lock after so long without use: 90s, 15m (unless given), 2h.", valueName: "time"))
  var idle: AgentTime?
  @Option(help: ArgumentHelp("Lock after so long in any case: 8h (unless given), 1d.", valueName: "time"))
  var lifetime: AgentTime?

  /// The options again, for the agent's own command line.
  var arguments: [String] {
    (idle.map { ["--idle", $0.text] } ?? []) + (lifetime.map { ["--lifetime", $0.text] } ?? [])
  }

  func settings(_ session: Session) throws -> AgentSettings {
    AgentSettings(
      folder: try session.runFolder(), vault: session.places.vault, options: try session.vaultOptions(nil),
      idle: idle?.duration ?? AgentSettings.standardIdle, lifetime: lifetime?.duration ?? AgentSettings.standardLifetime)
  }
}

/// `90s`, `15m`, `2h` or `1d`.
struct AgentTime: ExpressibleByArgument {
  let text: String
  let duration: Duration

  private static let seconds: [Character: Int64] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]
  /// Thirty days: an agent that never locks is a vault without a lock.
  private static let longest: Int64 = 30 * 86_400

  init?(argument: String) {
    guard let unit = argument.last.flatMap({ Self.seconds[$0] }), let count = UInt32(argument.dropLast()),
      case let seconds = Int64(count) * unit, 1...Self.longest ~= seconds
    else { return nil }
    text = argument
    duration = .seconds(seconds)
  }
}
