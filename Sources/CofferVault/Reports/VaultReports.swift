internal import CofferPlatform
internal import CofferStorage
internal import CofferVaultFormat
internal import CofferVaultRows
public import FoundationEssentials

/// What ``UnlockedVault/verify(progress:)`` checked.
public struct VerifyReport: Sendable, Equatable {
  /// Records whose place and both tags are right: items, their fields, and former contents.
  public let records: Int
  /// Items among them.
  public let items: Int
  /// Buckets whose digests fit the root.
  public let buckets: Int
  package init(records: Int, items: Int, buckets: Int) {
    self.records = records
    self.items = items
    self.buckets = buckets
  }
}

/// The slots of a vault after a change of its key or of a passphrase.
public struct SlotReport: Sendable, Equatable {
  /// All that open the vault now, those among them that another program added meanwhile.
  public let slots: [VaultStatus.Slot]
  /// Those that the change removed.
  public let removed: [VaultStatus.Slot]
}

/// The status of an unlocked vault.
public struct VaultStatus: Sendable, Equatable {
  /// Items stored, without their fields and former contents.
  public let items: Int
  /// Commits since creation.
  public let generation: UInt64
  /// The key epoch: grows with each rotation.
  public let epoch: UInt64
  /// When the vault was created, and its key last rotated.
  public let created: Date, rotated: Date
  /// The slots with their labels.
  public let slots: [Slot]
  /// One slot.
  public struct Slot: Sendable, Equatable {
    /// Its part in the header.
    public let summary: SlotSummary
    /// A name for people.
    public let label: String
    /// Whether this vault was unlocked with it.
    public let isInUse: Bool
    package init(summary: SlotSummary, label: String, isInUse: Bool) {
      self.summary = summary
      self.label = label
      self.isInUse = isInUse
    }
  }
  /// Whether the file or its write-ahead log still holds sealed bytes of an older key, or of items removed for good, because
  /// another program kept reading it. The next write removes them.
  public let oldBytesRemain: Bool
  package init(
    items: Int, generation: UInt64, epoch: UInt64, created: Date, rotated: Date, slots: [Slot], oldBytesRemain: Bool
  ) {
    self.items = items
    self.generation = generation
    self.epoch = epoch
    self.created = created
    self.rotated = rotated
    self.slots = slots
    self.oldBytesRemain = oldBytesRemain
  }
}
