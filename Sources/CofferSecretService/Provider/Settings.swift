public import CofferAgent
public import CofferPlatform

/// The settings of a provider of secrets.
public struct SecretServiceSettings: Sendable {
  /// The agent that holds the vault.
  public var client: AgentClient
  /// The address of the bus; nil for the one of this session.
  public var bus: String?
  /// Takes the bus's name from another provider, if that allows it.
  public var replaces = false
  /// Whether a key file or a passphrase's file opens the vault without a question.
  public var hasOwnKey = false
  /// Whether a program asks for the passphrase.
  public var hasPrompt = false
  /// How long a call waits for an unlock of the vault.
  public var patience = Self.usualPatience
  /// How long a call may wait for earlier calls, before it is refused without any effect.
  var longestDelay = Self.usualPatience
  /// Starts a process that makes the agent unlock the vault, and asks a person only if allowed. It exits with 0 on success.
  public var startUnlocking: @Sendable (_ mayAsk: Bool) throws(StoreError) -> Int32
  /// The reason, by the exit status of a failed unlock, why nobody can unlock the vault; nil if somebody still may.
  public var whyRefused: @Sendable (_ status: Int32) -> String? = { _ in nil }
  /// Throws ``/CofferPlatform/StoreError/Kind/noVault`` if there is nothing to unlock.
  public var checkVault: @Sendable () throws(StoreError) -> Void = { () throws(StoreError) in }
  /// Called once, when clients can call.
  public var ready: @Sendable (_ bus: String) -> Void = { _ in }

  /// Clients give up after 25 s; our earlier error says more than theirs.
  public static let usualPatience = Duration.seconds(20)

  /// Settings for the vault of `client`.
  public init(client: AgentClient, startUnlocking: @escaping @Sendable (_ mayAsk: Bool) throws(StoreError) -> Int32) {
    self.client = client
    self.startUnlocking = startUnlocking
  }
}
