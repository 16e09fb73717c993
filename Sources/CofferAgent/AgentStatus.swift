internal import CofferPlatform
internal import CofferStorage
public import CofferVault
public import SystemPackage

/// What an agent says of itself.
public struct AgentStatus: Sendable, Equatable {
  /// Its process.
  public let process: Int32
  /// The vault it is for.
  public let vault: FilePath
  /// The id of the vault it holds unlocked; nil while it is locked.
  public let unlocked: VaultID?
  /// Why it is locked; empty while it is not.
  public let whyLocked: String
  /// Its limits, and what is left of each while it is unlocked.
  public let idle: Duration, lifetime: Duration, idleLeft: Duration, lifetimeLeft: Duration
  /// Connections that are open, the one that asks among them.
  public let connections: Int
  /// Bytes of its guarded memory that the system refused to lock against swapping.
  public let unlockedMemory: Int
}

extension FrameWriter {
  mutating func put(_ status: AgentStatus) throws(StoreError) {
    try put(UInt32(bitPattern: status.process))
    try put(status.vault.string)
    try put(status.unlocked?.bytes ?? [])
    try put(status.whyLocked)
    for time in [status.idle, status.lifetime, status.idleLeft, status.lifetimeLeft] {
      try put(UInt64(clamping: time.components.seconds))
    }
    try put(UInt32(clamping: status.connections))
    try put(UInt64(clamping: status.unlockedMemory))
  }
}

extension FrameReader {
  mutating func status() throws(StoreError) -> AgentStatus {
    let process = Int32(bitPattern: try number())
    let path = try text()
    let bytes = try plainBytes(limit: 16)
    return AgentStatus(
      process: process, vault: FilePath(path), unlocked: bytes.count == 16 ? VaultID(bytes: bytes) : nil,
      whyLocked: try text(), idle: try seconds(), lifetime: try seconds(), idleLeft: try seconds(), lifetimeLeft: try seconds(),
      connections: Int(try number(UInt32.self)), unlockedMemory: Int(clamping: try number(UInt64.self)))
  }

  private mutating func seconds() throws(StoreError) -> Duration { .seconds(Int64(clamping: try number(UInt64.self))) }
}
