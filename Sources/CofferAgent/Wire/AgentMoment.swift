internal import CofferVault

/// The state of the agent's vault at one moment, to be compared with another.
package struct AgentMoment: Sendable, Equatable {
  /// The vault that is unlocked; nil while none is.
  package var vault: VaultID?
  /// Its last commit.
  package var generation: UInt64 = 0
  /// When the agent locked or unlocked it last, in nanoseconds since the start of the machine: a vault that was locked and
  /// unlocked in between is told of too, and of two moments the later one can be known, also beside another agent's.
  package var since: UInt64 = 0
}
