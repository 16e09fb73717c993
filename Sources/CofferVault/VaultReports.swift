internal import CofferPlatform
internal import CofferStorage
public import FoundationEssentials

extension OpenVault {
  /// The newest `limit` entries of the log, or all, with the names of items that there are.
  func entries(limit: Int?) throws(StoreError) -> [VaultLogEntry] {
    var names: [RecordIndex: ItemName] = [:]
    for item in try items.list(service: nil, withFields: true) { names[items.index(of: item.name)] = item.name }
    var entries: [VaultLogEntry] = []
    try log.forEach { (sequence, entry) throws(StoreError) in
      entries.append(VaultLogEntry(sequence, entry, name: names[entry.index]))
    }
    return limit.map { Array(entries.suffix(max(0, $0))) } ?? entries
  }
}

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

/// What an unlocked vault tells about itself.
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
    /// What the header says of it.
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
  /// Whether sealed bytes of an older key are still in the file, because another program kept reading it: the next write removes
  /// them.
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
