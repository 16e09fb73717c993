internal import Coffer

/// What commands print of an agent.
struct AgentReport: Encodable {
  let running: Bool
  let process: Int32?
  let vault: String?, unlocked: String?, locked: String?
  /// Seconds.
  let idle: Int64?, lifetime: Int64?, idleLeft: Int64?, lifetimeLeft: Int64?
  let connections: Int?, unlockedMemory: Int?

  init(_ status: AgentStatus?) {
    running = status != nil
    process = status?.process
    vault = status?.vault.string
    unlocked = status?.unlocked?.description
    locked = status.flatMap { $0.unlocked == nil ? $0.whyLocked : nil }
    idle = status?.idle.components.seconds
    lifetime = status?.lifetime.components.seconds
    let isUnlocked = status?.unlocked != nil
    idleLeft = isUnlocked ? status?.idleLeft.components.seconds : nil
    lifetimeLeft = isUnlocked ? status?.lifetimeLeft.components.seconds : nil
    // The connection that asks is no news.
    connections = status.map { $0.connections - 1 }
    unlockedMemory = status?.unlockedMemory
  }

  enum CodingKeys: String, CodingKey {
    case running, process, vault, unlocked, locked, idle, lifetime, idleLeft, lifetimeLeft, connections, unlockedMemory
  }

  // Every field is always there, null where it does not apply.
  func encode(to encoder: any Encoder) throws {
    var fields = encoder.container(keyedBy: CodingKeys.self)
    try fields.encode(running, forKey: .running)
    try fields.encode(process, forKey: .process)
    try fields.encode(vault, forKey: .vault)
    try fields.encode(unlocked, forKey: .unlocked)
    try fields.encode(locked, forKey: .locked)
    try fields.encode(idle, forKey: .idle)
    try fields.encode(lifetime, forKey: .lifetime)
    try fields.encode(idleLeft, forKey: .idleLeft)
    try fields.encode(lifetimeLeft, forKey: .lifetimeLeft)
    try fields.encode(connections, forKey: .connections)
    try fields.encode(unlockedMemory, forKey: .unlockedMemory)
  }

  /// One clause: `unlocked; locks in 14 min without use, in 7 h 59 min at the latest`.
  var summary: String {
    guard running else { return "none; coffer unlock starts one" }
    guard let idleLeft, let lifetimeLeft else { return "locked: \(locked ?? ""); coffer unlock unlocks it" }
    return "unlocked; locks after \(Self.words(idleLeft)) without use, in \(Self.words(lifetimeLeft)) at the latest"
  }

  func print(_ session: Session, json: Bool) throws {
    if json { return try Output.line(JSONText.encode(self)) }
    session.note("agent: \(summary)")
  }

  /// `7 h 59 min`, `14 min` or `30 s`: rounded down.
  static func words(_ seconds: Int64) -> String {
    if seconds < 60 { return "\(seconds) s" }
    if seconds < 3600 { return "\(seconds / 60) min" }
    let minutes = seconds % 3600 / 60
    return "\(seconds / 3600) h" + (minutes == 0 ? "" : " \(minutes) min")
  }
}
