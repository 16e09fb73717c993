public import CofferStorage
internal import CofferVaultFormat
public import FoundationEssentials

/// An item without its value, which a listing never opens.
public struct VaultItem: Sendable, Equatable, Identifiable {
  /// The maximum bytes of a value: 2 MiB. Sealing holds it twice in guarded memory, plain and padded, and a process can
  /// often lock no more than 8 MiB.
  public static let largestValue = RecordLimits.largestValue
  /// The identity of the item or field, under every name and in every vault it is exported to. An item that was deleted for
  /// good and stored again gets a new one.
  public let id: UUID
  /// Service, account, and for a field its name.
  public let name: ItemName
  /// Label, content type, attributes, expiry.
  public let metadata: ItemMetadata
  /// When the item was first stored.
  public let created: Date
  /// When the item was last written, or when a deleted one was deleted.
  public let modified: Date
  /// When the value was new. Unchanged by changing only the rest, and by reverting to a previous value.
  public let written: Date
  /// Counts the writes of this item from 1, for compare-and-swap.
  public let revision: UInt64
  /// The value's length in bytes.
  public let valueBytes: Int
  /// The number of previous versions to keep: those of the last writes. 0 unless requested.
  public let history: Int
  /// The maximum number of previous versions of an item or field.
  public static let longestHistory = Int(RecordMeta.longestHistory)
  /// The maximum number of fields of an item.
  public static let mostFields = RecordMeta.mostFields

  /// The condition that nobody has written or replaced the item since this was read.
  public var isUnchanged: WriteCondition { .item(id, revision: revision) }

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
