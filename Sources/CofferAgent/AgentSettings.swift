public import CofferVault
public import SystemPackage

/// How an agent works.
public struct AgentSettings: Sendable {
  /// The folder of its socket and lock, made with mode 0700 where it is missing.
  public var folder: FilePath
  /// The vault it unlocks, and what that is compared with.
  public var vault: FilePath, options: VaultOptions
  /// After how long without a request the vault is locked.
  public var idle: Duration
  /// After how long the vault is locked, however busy. Both times go on while the machine is suspended.
  public var lifetime: Duration

  /// A quarter of an hour: a coffee, not a lunch.
  public static let standardIdle = Duration.seconds(15 * 60)
  /// A working day.
  public static let standardLifetime = Duration.seconds(8 * 3600)

  /// Settings for the agent in `folder`.
  public init(
    folder: FilePath, vault: FilePath, options: VaultOptions = .withoutPins, idle: Duration = standardIdle,
    lifetime: Duration = standardLifetime
  ) {
    self.folder = folder
    self.vault = vault
    self.options = options
    self.idle = idle
    self.lifetime = lifetime
  }
}
