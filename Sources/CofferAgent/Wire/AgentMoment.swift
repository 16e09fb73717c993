internal import CofferVault

/// A comparable state of the agent's vault.
package struct AgentMoment: Sendable, Equatable {
  /// The unlocked vault; nil if none.
  package var vault: VaultID?
  /// Its last commit.
  package var generation: UInt64 = 0
  /// When the agent last locked or unlocked it, in nanoseconds since boot: a vault locked and unlocked in between differs
  /// too, and the later of two moments is known, even across agents.
  package var since: UInt64 = 0
}
