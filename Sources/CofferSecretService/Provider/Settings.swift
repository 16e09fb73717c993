public import CofferAgent
public import CofferPlatform

/// How a provider of secrets works.
public struct SecretServiceSettings: Sendable {
  /// The agent that holds the vault.
  public var client: AgentClient
  /// The address of the bus; nil for the one of this session.
  public var bus: String?
  /// Takes the bus's name from another provider, where that one allows it.
  public var replaces = false
  /// Whether something opens the vault without a question: a key file, a passphrase's file.
  public var hasOwnKey = false
  /// Whether a program asks for the passphrase.
  public var hasPrompt = false
  /// How long a call waits for the vault to be unlocked.
  public var patience = Self.usualPatience
  /// How long a call may wait for earlier calls. After that it is refused, and nothing of it is done.
  var longestDelay = Self.usualPatience
  /// Starts a process that has the agent unlock the vault, and asks a person only where it may. It ends with status 0 where it
  /// did.
  public var startUnlocking: @Sendable (_ mayAsk: Bool) throws(StoreError) -> Int32
  /// Why the vault is refused to everybody, by the status with which a process ended that tried to unlock it; nil where somebody
  /// may still unlock it.
  public var whyRefused: @Sendable (_ status: Int32) -> String? = { _ in nil }
  /// Throws ``/CofferPlatform/StoreError/Kind/noVault`` where there is nothing to unlock.
  public var checkVault: @Sendable () throws(StoreError) -> Void = { () throws(StoreError) in }
  /// Is told, once, that clients can call.
  public var ready: @Sendable (_ bus: String) -> Void = { _ in }

  /// Clients give up after 25 s; an error of ours by then says more than theirs.
  public static let usualPatience = Duration.seconds(20)

  /// Settings for the vault that `client` asks for.
  public init(client: AgentClient, startUnlocking: @escaping @Sendable (_ mayAsk: Bool) throws(StoreError) -> Int32) {
    self.client = client
    self.startUnlocking = startUnlocking
  }
}
