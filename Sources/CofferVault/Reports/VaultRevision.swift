internal import CofferVaultFormat
internal import CofferVaultRows
public import FoundationEssentials

/// A present, former or deleted content of an item or field.
public struct VaultRevision: Sendable, Equatable {
  /// Its description, with its number as ``VaultItem/revision``.
  public let item: VaultItem
  /// The state of the content.
  public let state: State
  /// Until when a deleted content can be restored; nil for no limit.
  public let until: Date?

  /// The state of a content.
  public enum State: String, Sendable, CaseIterable {
    /// It is the present one.
    case present
    /// It was replaced.
    case former
    /// It was deleted and can be restored.
    case deleted
  }

  package init(item: VaultItem, state: State, until: Date? = nil) {
    self.item = item
    self.state = state
    self.until = until
  }
}

/// The former and deleted contents to remove from a vault.
public enum PruneRule: Sendable, Equatable {
  /// Those replaced or deleted before a date.
  case olderThan(Date)
  /// All but this many of the newest of each item and field; 0 for all.
  case allBut(Int)
  /// Deleted ones that can no longer be restored.
  case expired
}
