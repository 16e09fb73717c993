internal import CofferPlatform
internal import CofferStorage
public import CofferVault
public import SystemPackage

/// The status of an agent.
public struct AgentStatus: Sendable, Equatable {
  /// Its process.
  public let process: Int32
  /// The vault that the client names, else the one that the agent was started for: of that is what follows.
  public let vault: VaultPlace
  /// The vault's id; nil while it is locked.
  public let unlocked: VaultID?
  /// Why it is locked; empty while it is not.
  public let whyLocked: String
  /// Its limits, and the time left of each while it is unlocked.
  public let idle: Duration, lifetime: Duration, idleLeft: Duration, lifetimeLeft: Duration
  /// The other vaults that it holds unlocked.
  public let others: [Held]
  /// Connections that are open, the one that asks among them.
  public let connections: Int
  /// Bytes of its guarded memory that the system refused to lock against swapping.
  public let unlockedMemory: Int

  /// Another vault that an agent holds unlocked.
  public struct Held: Sendable, Equatable {
    /// Where it is.
    public let vault: VaultPlace
    /// Its id.
    public let id: VaultID
    /// The time left of its limits.
    public let idleLeft: Duration, lifetimeLeft: Duration
  }
}

/// How an agent works.
public struct AgentSettings: Sendable {
  /// The folder of its socket and lock, made with mode 0700 where it is missing.
  public var folder: FilePath
  /// The vault it is for first of all, and what that is compared with. Others that it is asked for are compared with the same
  /// pins.
  public var vault: VaultPlace, options: VaultOptions
  /// After how long without a request the vault is locked.
  public var idle: Duration
  /// After how long the vault is locked, however busy. Both times go on while the machine is suspended.
  public var lifetime: Duration

  /// A quarter of an hour: a coffee, not a lunch.
  public static let standardIdle = Duration.seconds(15 * 60)
  /// A working day.
  public static let standardLifetime = Duration.seconds(8 * 3600)

  /// Settings for the agent in `folder`.
  ///
  /// - Parameters:
  ///   - folder: the folder of its socket and lock.
  ///   - vault: its first vault.
  ///   - options: the comparisons for the vault. A program takes those of its places, which notice a vault that was rolled back.
  ///   - idle: the time without a request after which the vault is locked.
  ///   - lifetime: the time after which it is locked in any case.
  public init(
    folder: FilePath, vault: VaultPlace, options: VaultOptions, idle: Duration = standardIdle,
    lifetime: Duration = standardLifetime
  ) {
    self.folder = folder
    self.vault = vault
    self.options = options
    self.idle = idle
    self.lifetime = lifetime
  }
}
