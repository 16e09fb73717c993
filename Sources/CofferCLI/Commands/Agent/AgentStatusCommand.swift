internal import ArgumentParser
internal import Coffer

struct AgentStatusCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "status", abstract: "Say whether an agent runs, which vault it holds and for how long.",
    discussion: "Exit status 1 where none runs, 69 where it is locked.")

  @OptionGroup var output: JSONOption
  @OptionGroup var common: CommonOptions
  var wantsJSON: Bool { output.json }

  func perform(_ session: Session) throws {
    let status = try session.agentStatus()
    let report = AgentReport(status)
    if output.json {
      try Output.line(JSONText.encode(report))
    } else if let status {
      try Output.line(Columns.align(rows(status, report)))
    }
    guard let status else {
      throw StoreError(.notFound, "no agent is running", place: try session.runFolder().string, cure: "coffer unlock starts one")
    }
    guard status.unlocked != nil else {
      throw StoreError(.locked, "the agent is locked: \(status.whyLocked)", place: status.vault.string, cure: "coffer unlock")
    }
  }

  private func rows(_ status: AgentStatus, _ report: AgentReport) -> [[String]] {
    [
      ["agent", "process \(status.process)"], ["vault", status.vault.string], ["state", report.summary],
      [
        "limits",
        "\(AgentReport.words(status.idle.components.seconds)) without use, "
          + "\(AgentReport.words(status.lifetime.components.seconds)) in any case",
      ],
      ["clients", String(status.connections - 1)],
      [
        "memory",
        status.unlockedMemory == 0 ? "locked" : "\(status.unlockedMemory) bytes may reach swap; raise ulimit -l",
      ],
    ]
  }
}
