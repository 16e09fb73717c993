public import CofferStorage
internal import CofferVaultFormat
internal import CofferVaultRows
public import FoundationEssentials

/// The listing of an item: everything but the value, which it never opens.
public struct VaultItem: Sendable, Equatable, Identifiable {
  /// Bytes of a value, at most: 2 MiB. Sealing holds a value twice in guarded memory, plain and padded, and a process may often
  /// lock no more than 8 MiB.
  public static let largestValue = RecordLimits.largestValue
  /// The identity of the item or field, under every name and in every vault that it is exported to. An item that was deleted for
  /// good and stored again has another.
  public let id: UUID
  /// Service and account, and the field where it is one of an item.
  public let name: ItemName
  /// Label, content type, attributes, expiry.
  public let metadata: ItemMetadata
  /// When the item was first stored.
  public let created: Date
  /// When the item was last written; of one that was deleted, when that was.
  public let modified: Date
  /// When the value was new. Who changes the rest alone, or goes back to a former value, leaves it.
  public let written: Date
  /// Counts the writes of this item from 1; compare-and-swap compares it.
  public let revision: UInt64
  /// The value's length in bytes.
  public let valueBytes: Int
  /// How many former contents are kept of it: those of so many writes before the last one. None unless someone asked for it.
  public let history: Int
  /// Former contents that can be kept of an item or field, at most.
  public static let longestHistory = Int(RecordMeta.longestHistory)
  /// Fields that an item can have, at most.
  public static let mostFields = RecordMeta.mostFields

  /// The condition that nobody has written or replaced the item since this was read.
  public var isUnchanged: WriteCondition { .item(id, revision: revision) }

  /// An item's description.
  package init(
    id: UUID, name: ItemName, metadata: ItemMetadata, created: Date, modified: Date, written: Date, revision: UInt64,
    valueBytes: Int,
    history: Int = 0
  ) {
    self.id = id
    self.written = written
    self.name = name
    self.metadata = metadata
    self.created = created
    self.modified = modified
    self.revision = revision
    self.valueBytes = valueBytes
    self.history = history
  }
}
