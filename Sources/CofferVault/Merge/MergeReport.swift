internal import CofferVaultFormat

/// The effects of a merge, made or planned. Omits the fields of a new or deleted item.
public struct MergeReport: Sendable, Equatable, Codable {
  /// New here, in the order of the other vault.
  public internal(set) var added: [ItemName] = []
  /// Newer there, by a writer who knew this vault's version.
  public internal(set) var updated: [ItemName] = []
  /// Changed on both sides.
  public internal(set) var conflicts: [Conflict] = []
  /// Renamed there, or numbered because another item has the name.
  public internal(set) var renamed: [Renamed] = []
  /// Named differently in both, without a time that reveals the later name: the dropped name and the kept one. See
  /// ``UnlockedVault/merge(_:keeping:keptUntil:isTrial:acceptingOlderKey:leavingOut:progress:)``.
  public internal(set) var undated: [Renamed] = []
  /// Deleted there after their last change here.
  public internal(set) var deleted: [ItemName] = []
  /// Newer here, or deleted here after their last change there.
  public internal(set) var kept: [ItemName] = []
  /// In the other vault, but not taken over.
  public internal(set) var leftOut: [LeftOut] = []
  /// Items that are the same in both. Of two copies under one key, those in equal buckets are counted without a look,
  /// Coffer's own ones among them.
  public internal(set) var same = 0
  /// Items and fields with equal content that take times and id from the other vault's later write.
  public internal(set) var aligned = 0
  /// Items and fields, also deleted ones, that keep their content and gain previous or deleted ones of the other vault.
  public internal(set) var joined: [ItemName] = []
  /// Slots that a head of another machine changed here; none for any other copy.
  public internal(set) var slots: [SlotChange] = []
  /// Whether the vault does not change.
  public internal(set) var isEmpty = true

  /// An item or field whose content in each vault is unknown to the other.
  public struct Conflict: Sendable, Equatable, Codable {
    /// Its name here.
    public let name: ItemName
    /// The vault whose content it now has.
    public let winner: Winner
    /// The revision of the other content; nil if it is not kept or nothing was done.
    public internal(set) var kept: UInt64?

    /// A vault of a merge.
    public enum Winner: String, Sendable, CaseIterable, Codable {
      /// The vault that takes over items.
      case this
      /// The vault whose items are taken over.
      case other
    }
  }

  /// An item or field with a new or differing name.
  public struct Renamed: Sendable, Equatable, Codable {
    /// Its name before, or in the other vault.
    public let from: ItemName
    /// Its name now.
    public let to: ItemName
  }

  /// An item or field that is not merged.
  public struct LeftOut: Sendable, Equatable, Codable {
    /// Its name in the other vault.
    public let name: ItemName
    /// The reason.
    public let reason: Reason
  }

  /// Why an item or field is left out.
  public enum Reason: String, Sendable, CaseIterable, Codable {
    /// It is a login or ends with a session, and so belongs to the place where it was made.
    case login
    /// It has no value in one of the vaults.
    case withoutValue
    /// Its name, or an attribute's name, is invalid.
    case unsoundName
    /// The item already has the maximum number of fields.
    case noRoom
  }
}
