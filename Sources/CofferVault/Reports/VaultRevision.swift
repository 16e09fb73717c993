internal import CofferVaultFormat
internal import CofferVaultRows
public import FoundationEssentials

/// A content that an item or field has or had.
public struct VaultRevision: Sendable, Equatable {
  /// Its description, with its number as ``VaultItem/revision``.
  public let item: VaultItem
  /// What became of it.
  public let state: State
  /// Until when a deleted one can be brought back; nil for as long as it is there.
  public let until: Date?

  /// What became of a content.
  public enum State: String, Sendable, CaseIterable {
    /// It is the present one.
    case present
    /// Another one took its place.
    case former
    /// It was deleted, and can be brought back.
    case deleted
  }

  package init(item: VaultItem, state: State, until: Date? = nil) {
    self.item = item
    self.state = state
    self.until = until
  }
}

/// Which contents of the past are removed from a vault.
public enum PruneRule: Sendable, Equatable {
  /// Those that were replaced or deleted before then.
  case olderThan(Date)
  /// All but so many of each item and field, the newest; 0 for all of them.
  case allBut(Int)
  /// Deleted ones that can no longer be brought back.
  case expired
}
