public import FoundationEssentials

/// A current, previous or deleted version of an item or field.
public struct VaultRevision: Sendable, Equatable {
  /// Its description, with its number as ``VaultItem/revision``.
  public let item: VaultItem
  /// The state of the version.
  public let state: State
  /// Until when a deleted version can be restored; nil for no limit.
  public let until: Date?

  /// The state of a version.
  public enum State: String, Sendable, CaseIterable {
    /// It is the current one.
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

/// The previous and deleted versions to remove from a vault.
public enum PruneRule: Sendable, Equatable {
  /// Those replaced or deleted before a date.
  case olderThan(Date)
  /// All but this many of the newest of each item and field; 0 for all.
  case allBut(Int)
  /// Deleted ones that can no longer be restored.
  case expired
}
