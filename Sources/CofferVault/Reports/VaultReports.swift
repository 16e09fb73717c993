internal import CofferStorage
internal import CofferVaultFormat
public import FoundationEssentials

/// The result of ``UnlockedVault/verify(progress:)``.
public struct VerifyReport: Sendable, Equatable {
  /// Records with a valid place and valid tags: items, their fields, and previous versions.
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
  /// All slots that now open the vault, including those added meanwhile by another program.
  public let slots: [VaultStatus.Slot]
  /// The slots that the change removed.
  public let removed: [VaultStatus.Slot]
}

/// The status of an unlocked vault.
public struct VaultStatus: Sendable, Equatable {
  /// Items, without their fields and previous versions. Coffer's own items of logs of uses are among them, unless an agent
  /// holds the vault.
  public let items: Int
  /// Commits since creation.
  public let generation: UInt64
  /// The key epoch, which grows with each rotation.
  public let epoch: UInt64
  /// When the vault was created, and when its key was last rotated.
  public let created: Date, rotated: Date
  /// The slots with their labels.
  public let slots: [Slot]
  /// A slot and its label.
  public struct Slot: Sendable, Equatable {
    /// The slot in the header.
    public let summary: SlotSummary
    /// A name for people.
    public let label: String
    /// Whether it unlocked this vault.
    public let isInUse: Bool
    package init(summary: SlotSummary, label: String, isInUse: Bool) {
      self.summary = summary
      self.label = label
      self.isInUse = isInUse
    }
  }
  /// Whether the file or its write-ahead log still holds sealed bytes of an older key or of items removed for good, because
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
