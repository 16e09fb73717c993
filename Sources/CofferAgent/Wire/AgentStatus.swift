public import CofferVault
public import SystemPackage

/// The status of an agent.
public struct AgentStatus: Sendable, Equatable {
  /// Its process id.
  public let process: Int32
  /// The client's vault, else the agent's first: the following properties describe it.
  public let vault: VaultPlace
  /// The vault's id; nil while it is locked.
  public let unlocked: VaultID?
  /// Why it is locked; empty if it is not.
  public let whyLocked: String
  /// Its limits, and the time left of each while unlocked.
  public let idle: Duration, lifetime: Duration, idleLeft: Duration, lifetimeLeft: Duration
  /// The other unlocked vaults.
  public let others: [Held]
  /// Open connections, including the asking one.
  public let connections: Int
  /// Bytes of its guarded memory not locked against swapping.
  public let unlockedMemory: Int

  /// Another unlocked vault of an agent.
  public struct Held: Sendable, Equatable {
    /// Its place.
    public let vault: VaultPlace
    /// Its id.
    public let id: VaultID
    /// The time left of its limits.
    public let idleLeft: Duration, lifetimeLeft: Duration
  }
}

/// The settings of an agent.
public struct AgentSettings: Sendable {
  /// The folder of its socket and lock, made with mode 0700 if missing.
  public var folder: FilePath
  /// Its first vault, and the comparisons for it. Further vaults use the same pins.
  public var vault: VaultPlace, options: VaultOptions
  /// The time without a request after which the vault is locked.
  public var idle: Duration
  /// The time after which the vault is locked in any case. Both times include suspension of the machine.
  public var lifetime: Duration
  /// The folder of the logs of uses: beside that of the pins, so that it stays after a restart of the machine.
  package var uses: FilePath
  /// The folder of pieces of remotes, which can be brought again.
  package var caches: FilePath

  /// A quarter of an hour.
  public static let standardIdle = Duration.seconds(15 * 60)
  /// A working day.
  public static let standardLifetime = Duration.seconds(8 * 3600)

  /// Settings for the agent in `folder`.
  ///
  /// - Parameters:
  ///   - folder: the folder of its socket and lock.
  ///   - vault: its first vault.
  ///   - options: the comparisons for the vault. Those of the program's places notice a vault that was rolled back.
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
    let state = options.pins?.removingLastComponent() ?? folder
    (uses, caches) = (state.appending("uses"), state.appending("cache"))
  }
}
