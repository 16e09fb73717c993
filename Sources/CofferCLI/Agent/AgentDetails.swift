internal import Coffer
internal import CofferAgent
internal import CofferTerminal

/// The agent with the vaults that it holds.
enum AgentDetails {
  /// - Throws: `.notFound` if no agent runs; `.locked` if it does not hold the vault. Both after the report.
  static func show(_ context: Context) throws {
    let status = try context.agentStatus()
    let report = AgentReport(status)
    if context.json {
      try Output.line(JSONText.encode(report))
    } else if let status {
      try Sheet.show(rows(status, report))
    }
    guard let status else {
      throw StoreError(.notFound, "no agent is running", place: context.places.run.string, cure: "coffer unlock starts one")
    }
    guard status.unlocked != nil else {
      throw StoreError(
        .locked, "the agent is locked: \(status.whyLocked)", place: status.vault.description, cure: "coffer unlock")
    }
  }

  private static func rows(_ status: AgentStatus, _ report: AgentReport) -> [[String]] {
    [
      ["agent", "process \(status.process)"], ["vault", status.vault.description], ["state", report.summary],
      [
        "limits",
        "\(Moment.words(status.idle.components.seconds)) without use, "
          + "\(Moment.words(status.lifetime.components.seconds)) in any case",
      ],
    ] + status.others.map { ["also", "\($0.vault); \(AgentReport.left($0.idleLeft, $0.lifetimeLeft))"] } + [
      ["clients", String(status.connections - 1)],
      [
        "memory",
        status.unlockedMemory == 0 ? "locked" : "\(status.unlockedMemory) bytes may reach swap; raise ulimit -l",
      ],
    ]
  }
}
