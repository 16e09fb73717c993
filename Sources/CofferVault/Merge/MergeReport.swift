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
  /// Renamed there, or numbered because another item has the name.
  public internal(set) var renamed: [Renamed] = []
  /// Named differently in both, without a time that tells the later name: the name given up, and the one that stays. See
  /// ``UnlockedVault/merge(_:keeping:keptUntil:isTrial:acceptingOlderKey:leavingOut:progress:)``.
  public internal(set) var undated: [Renamed] = []
  /// Deleted there since they were last changed here.
  public internal(set) var deleted: [ItemName] = []
  /// Newer here, or deleted here since they were last changed there.
  public internal(set) var kept: [ItemName] = []
  /// In the other vault, but not taken over.
  public internal(set) var leftOut: [LeftOut] = []
  /// The number of items that are the same in both.
  public internal(set) var same = 0
  /// The number of items and fields with the same content whose times and id are taken from the other vault's later write.
  public internal(set) var aligned = 0
  /// Whether the vault stays unchanged.
  public internal(set) var isEmpty = true

  /// An item or field whose content in each vault is unknown to the other.
  public struct Conflict: Sendable, Equatable {
    /// Its name here.
    public let name: ItemName
    /// The vault whose content it has now.
    public let winner: Winner
    /// The revision under which the other content is kept; nil if it is not, or if nothing was done.
    public internal(set) var kept: UInt64?

    /// A vault of a merge.
    public enum Winner: String, Sendable, CaseIterable {
      /// The vault that takes the other's items.
      case this
      /// The vault whose items are taken.
      case other
    }
  }

  /// An item or field with a new or differing name.
  public struct Renamed: Sendable, Equatable {
    /// Its name before, or in the other vault.
    public let from: ItemName
    /// Its name now.
    public let to: ItemName
  }

  /// An item or field that is not merged.
  public struct LeftOut: Sendable, Equatable {
    /// Its name in the other vault.
    public let name: ItemName
    /// The reason.
    public let reason: Reason
  }

  /// The reasons for which an item or field is left out.
  public enum Reason: String, Sendable, CaseIterable {
    /// It is a login, or ends with a session, and so belongs to the place where it was made.
    case login
    /// It has no value in one of the vaults.
    case withoutValue
    /// Its name, or an attribute's name, is invalid.
    case unsoundName
    /// The item already has the most fields.
    case noRoom
  }
}
