internal import CofferVaultFormat
internal import CofferVaultRows

/// The effects of a restore.
public struct RestoreReport: Sendable, Equatable {
  /// The id of the restored vault.
  public let id: VaultID
  /// The commit in the backup.
  public let restored: UInt64
  /// The commit that restored it: above all that this machine had seen.
  public let generation: UInt64
  /// Items in the vault.
  public let items: Int
  /// The place of the previous vault or file; nil if there was nothing.
  public let kept: VaultPlace?
  /// If the previous vault did not open, or was of another history, the backup's slots, which all open the vault again, even
  /// if removed since. Otherwise empty, and the vault keeps its slots.
  public let returnedSlots: [VaultStatus.Slot]
  /// An invitation to the vault under its new key; the backup has an older key.
  public let invitation: Invitation
}
