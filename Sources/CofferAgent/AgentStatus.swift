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
