public import CofferStorage
public import FoundationEssentials

/// What a listing tells of an item: everything but the value, which it never opens.
public struct VaultItem: Sendable, Equatable {
  /// Bytes of a value, at most: 2 MiB. Sealing holds a value twice in guarded memory, plain and padded, and a process may often
  /// lock no more than 8 MiB.
  public static let largestValue = RecordLimits.largestValue
  /// Service and account.
  public let name: ItemName
  /// Label, content type, attributes, expiry.
  public let metadata: ItemMetadata
  /// When the item was first stored.
  public let created: Date
  /// When the item was last written.
  public let modified: Date
  /// Counts the writes of this item from 1; compare-and-swap compares it.
  public let revision: UInt64
  /// The value's length in bytes.
  public let valueBytes: Int

  /// An item's description.
  package init(
    name: ItemName, metadata: ItemMetadata, created: Date, modified: Date, revision: UInt64, valueBytes: Int
  ) {
    self.name = name
    self.metadata = metadata
    self.created = created
    self.modified = modified
    self.revision = revision
    self.valueBytes = valueBytes
  }
}
