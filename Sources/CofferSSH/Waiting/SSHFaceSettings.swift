package import CofferAgent
package import CofferPlatform

/// A vault whose keys are offered, and the ways to unlock it and to ask about its keys.
package struct SSHVault: Sendable {
  package var client: AgentClient
  /// Whether a key file or a passphrase's file opens the vault without a question.
  package var hasOwnKey = false
  /// Starts a process that makes the agent unlock the vault, and asks a person only if allowed. It exits with 0 on success.
  /// Throws ``/CofferPlatform/StoreError/Kind/noVault`` if there is nothing to unlock.
  package var startUnlocking: @Sendable (_ mayAsk: Bool) throws(StoreError) -> Int32
  /// Starts a process that puts the question of a ticket to a person, and gives the answer to the agent; nil if no program
  /// asks.
  package var startAsking: (@Sendable (_ ticket: UInt64) throws(StoreError) -> Int32)?
  /// It asks for the passphrase too.
  var hasPrompt: Bool { startAsking != nil }

  package init(client: AgentClient, startUnlocking: @escaping @Sendable (_ mayAsk: Bool) throws(StoreError) -> Int32) {
    (self.client, self.startUnlocking) = (client, startUnlocking)
  }
}

/// The settings of a face.
package struct SSHFaceSettings: Sendable {
  /// The first also takes the keys that `ssh-add` brings.
  package var vaults: [SSHVault]
  /// The comments of the keys that are offered; nil for all. Such a socket takes no other key.
  package var keys: Set<String>?
  /// How long a request waits for the vault, and a question for a person elsewhere.
  package var patience = Duration.seconds(20)
  /// Called for each request that fails.
  package var note: @Sendable (StoreError) -> Void = { _ in }

  package init(vaults: [SSHVault]) { self.vaults = vaults }
}
