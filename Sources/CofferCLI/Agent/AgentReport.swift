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
    let isUnlocked = status?.unlocked != nil
    idleLeft = isUnlocked ? status.map { Self.seconds($0.idleLeft) } : nil
    lifetimeLeft = isUnlocked ? status.map { Self.seconds($0.lifetimeLeft) } : nil
    // Not counting the connection that asks.
    connections = status.map { $0.connections - 1 }
    unlockedMemory = status?.unlockedMemory
  }

  /// Rounded up, so that a time that has just begun is whole.
  private static func seconds(_ left: Duration) -> Int64 {
    left.components.seconds + (left.components.attoseconds > 0 ? 1 : 0)
  }

  /// One clause: `unlocked; locks in 14 min without use, in 7 h 59 min at the latest`.
  var summary: String {
    guard running else { return "none; coffer unlock starts one" }
    guard let idleLeft, let lifetimeLeft else { return "locked: \(locked ?? ""); coffer unlock unlocks it" }
    return "unlocked; " + Self.left(.seconds(idleLeft), .seconds(lifetimeLeft))
  }

  /// `locks after 14 min without use, in 7 h 59 min at the latest`
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
    if json { return try Output.line(JSONText.encode(self)) }
    guard let idleLeft, let lifetimeLeft else { return context.note("agent: \(summary)") }
    context.done(
      "unlocked for all your shells, \(Moment.words(idleLeft)) after the last use, \(Moment.words(lifetimeLeft)) at most; "
        + "coffer lock ends it",
      elsewhere: "agent: \(summary)")
  }
}
