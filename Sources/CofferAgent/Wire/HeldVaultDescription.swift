package import CofferVault

/// An agent's description of an unlocked vault, without its items.
package struct HeldVaultDescription: Sendable, Equatable {
  package let status: VaultStatus
  package let pin: PinStatus
  /// Entries of the log.
  package let log: Int
  /// Bytes of the agent's guarded memory that cannot, and that may, reach the swap.
  package let lockedBytes: Int, unlockedBytes: Int

  package init(status: VaultStatus, pin: PinStatus, log: Int, lockedBytes: Int, unlockedBytes: Int) {
    self.status = status
    self.pin = pin
    self.log = log
    self.lockedBytes = lockedBytes
    self.unlockedBytes = unlockedBytes
  }
}
