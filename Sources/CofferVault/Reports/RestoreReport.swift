internal import CofferVaultFormat
internal import CofferVaultRows

/// What putting a backup back did.
public struct RestoreReport: Sendable, Equatable {
  /// The vault that stands there now.
  public let id: VaultID
  /// The commit that the backup held.
  public let restored: UInt64
  /// The commit that put it back: above all that this machine had seen.
  public let generation: UInt64
  /// Items in it.
  public let items: Int
  /// The place that holds what stood there before; nil when nothing did.
  public let kept: VaultPlace?
  /// Where the vault that stood there did not open, or stood apart: the backup's slots, all of which open the vault again,
  /// whoever removed them since; else none, and the vault has the slots that it had.
  public let returnedSlots: [VaultStatus.Slot]
  /// The introduction to the vault under its new key; the backup is of an older key.
  public let invitation: Invitation
}
