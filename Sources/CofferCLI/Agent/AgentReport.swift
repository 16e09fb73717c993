internal import Coffer
internal import CofferAgent
internal import CofferPlatform
internal import CofferTerminal

struct AgentReport: Encodable {
  let running: Bool
  @OrNull var process: Int32?
  @OrNull var vault: String?
  @OrNull var unlocked: String?
  @OrNull var locked: String?
  /// Seconds.
  @OrNull var idle: Int64?
  @OrNull var lifetime: Int64?
  @OrNull var idleLeft: Int64?
  @OrNull var lifetimeLeft: Int64?
  let others: [Other]
  @OrNull var connections: Int?
  @OrNull var unlockedMemory: Int?

  struct Other: Encodable { let vault: String, unlocked: String, idleLeft: Int64, lifetimeLeft: Int64 }

  init(_ status: AgentStatus?) {
    others = (status?.others ?? []).map { other in
      Other(
        vault: other.vault.description, unlocked: other.id.description, idleLeft: other.idleLeft.components.seconds,
        lifetimeLeft: other.lifetimeLeft.components.seconds)
    }
    running = status != nil
    process = status?.process
    vault = status?.vault.description
    unlocked = status?.unlocked?.description
    locked = status.flatMap { $0.unlocked == nil ? $0.whyLocked : nil }
    idle = status?.idle.components.seconds
    lifetime = status?.lifetime.components.seconds
    let unlocking = status?.unlocked == nil ? nil : status
    idleLeft = unlocking.map { Self.seconds($0.idleLeft) }
    lifetimeLeft = unlocking.map { Self.seconds($0.lifetimeLeft) }
    // Not counting the connection that asks.
    connections = status.map { $0.connections - 1 }
    unlockedMemory = status?.unlockedMemory
  }

  /// Rounded up, so that a time that has just begun is whole.
  private static func seconds(_ left: Duration) -> Int64 { left.components.seconds + (left.components.attoseconds > 0 ? 1 : 0) }

  /// One clause: `unlocked; locks in 14 min without use, in 7 h 59 min at the latest`.
  var summary: String {
    guard running else { return "none; coffer unlock starts one" }
    guard let idleLeft, let lifetimeLeft else { return "locked: \(locked ?? ""); coffer unlock unlocks it" }
    return "unlocked; " + Self.left(.seconds(idleLeft), .seconds(lifetimeLeft))
  }

  static func left(_ idle: Duration, _ lifetime: Duration) -> String {
    "locks after \(Moment.words(idle.components.seconds)) without use, in \(Moment.words(lifetime.components.seconds)) at the "
      + "latest"
  }

  func short(_ display: Display) -> String {
    let dot = Sign.dot.text(display)
    guard running else { return Style.dim.text("not running", display) + "; coffer unlock starts it" }
    guard let idleLeft, let lifetimeLeft else { return Style.yellow.text(dot, display) + " locked; coffer unlock" }
    return Style.green.text(dot, display) + " unlocked, \(Moment.words(min(idleLeft, lifetimeLeft))) left"
      + (others.isEmpty ? "" : "; and \(counted(others.count, "other vault"))")
  }

  func print(_ context: Context, json: Bool) throws {
    if json { return try Output.json(self) }
    guard let idleLeft, let lifetimeLeft else { return context.note("agent: \(summary)") }
    context.done(
      "unlocked for all your shells; it locks \(Moment.words(idleLeft)) after the last use, in "
        + "\(Moment.words(lifetimeLeft)) at the latest, or with 'coffer lock'",
      elsewhere: "agent: \(summary)")
  }
}

enum AgentDetails {
  /// - Throws: `.notFound` if no agent runs; `.locked` if it does not hold the vault; both after the report.
  static func show(_ context: Context) throws {
    let status = try context.agentStatus()
    let report = AgentReport(status)
    if context.json {
      try Output.json(report)
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
          + "\(Moment.words(status.lifetime.components.seconds)) at most",
      ],
    ] + status.others.map { ["also", "\($0.vault); \(AgentReport.left($0.idleLeft, $0.lifetimeLeft))"] } + [
      ["clients", String(status.connections - 1)],
      ["memory", status.unlockedMemory == 0 ? "locked" : "\(status.unlockedMemory) bytes may reach swap; raise ulimit -l"],
    ]
  }
}
