internal import CofferVaultFormat
internal import CofferVaultRows

/// The effects of a merge, made or planned. The fields of a new or deleted item are not named.
public struct MergeReport: Sendable, Equatable {
  /// New here, in the order of the vault they are from.
  public internal(set) var added: [ItemName] = []
  /// Newer there, by a writer who knew the version here.
  public internal(set) var updated: [ItemName] = []
  /// Changed on both sides.
  public internal(set) var conflicts: [Conflict] = []
  /// Renamed there, or given a number because another item has the name.
  public internal(set) var renamed: [Renamed] = []
  /// Called differently in both, where no time tells which name is the later one: the name that is given up, and the one that
  /// stays. See ``UnlockedVault/merge(_:keeping:keptUntil:isTrial:acceptingOlderKey:leavingOut:progress:)``.
  public internal(set) var undated: [Renamed] = []
  /// Deleted there since they were last changed here.
  public internal(set) var deleted: [ItemName] = []
  /// Newer here, or deleted here since they were last changed there.
  public internal(set) var kept: [ItemName] = []
  /// Of the other vault, not taken over.
  public internal(set) var leftOut: [LeftOut] = []
  /// How many items are the same in both.
  public internal(set) var same = 0
  /// Of how many items and fields with one content the other vault's were written later: they get its times and its id.
  public internal(set) var aligned = 0
  /// Whether nothing of the vault changes.
  public internal(set) var isEmpty = true

  /// An item or field of which neither vault knows the other's content.
  public struct Conflict: Sendable, Equatable {
    /// Its name here.
    public let name: ItemName
    /// Whose content it has now.
    public let winner: Winner
    /// Under which revision the other content is kept; nil where it is not, or nothing was done.
    public internal(set) var kept: UInt64?

    /// A vault of a merge.
    public enum Winner: String, Sendable, CaseIterable {
      /// The one that takes the other's items.
      case this
      /// The one whose items are taken.
      case other
    }
  }

  /// An item or field with another name than before, or than in the other vault.
  public struct Renamed: Sendable, Equatable {
    /// Its name before, or in the other vault.
    public let from: ItemName
    /// Its name now.
    public let to: ItemName
  }

  /// An item or field that takes no part.
  public struct LeftOut: Sendable, Equatable {
    /// Its name in the other vault.
    public let name: ItemName
    /// Why.
    public let reason: Reason
  }

  /// Why something is left out.
  public enum Reason: String, Sendable, CaseIterable {
    /// It is a login, or ends with a session: it belongs to the place where it was made.
    case login
    /// It has no value, in one of the vaults.
    case withoutValue
    /// Its name, or that of an attribute, is one that no item gets.
    case unsoundName
    /// The item has as many fields as it may.
    case noRoom
  }
}
