public import CofferPlatform
public import CofferStorage
public import FoundationEssentials

/// What a listing tells of an item: everything but the value, which it never opens.
public struct VaultItem: Sendable, Equatable, Identifiable {
  /// Bytes of a value, at most: 2 MiB. Sealing holds a value twice in guarded memory, plain and padded, and a process may often
  /// lock no more than 8 MiB.
  public static let largestValue = RecordLimits.largestValue
  /// Which item or field it is, under every name that it gets and in every vault that it is exported to. What is deleted for good
  /// and stored anew is another.
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

/// The address of an item, a service and an account, as in a keychain; or of one of its fields, further secrets of the item that
/// are read and written by themselves. Bytes of UTF-8, never normalized.
///
/// ```swift
/// let account = try ItemName(service: "bank.example", account: "ann")
/// try vault.set(password, for: account)
/// try vault.set(pin, for: account.field(named: "pin"))
/// ```
public struct ItemName: Sendable, Hashable, Comparable, CustomStringConvertible {
  /// What the secret opens: a host, a URL, an app's domain.
  public let service: String
  /// Whose it is; may be empty.
  public let account: String
  /// The field of the item; empty for the item itself.
  public let field: String

  /// The name of an item.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/invalidName``; see ``/CofferStorage/StoredName``.
  public init(service: String, account: String = "") throws(StoreError) {
    self.service = try StoredName.check(service, as: "service")
    self.account = account.isEmpty ? "" : try StoredName.check(account, as: "account")
    field = ""
  }

  /// The name of a field of the item, at most 256 bytes. An item has up to ``VaultItem/mostFields``; they are renamed, exported
  /// and deleted with it.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/invalidName``; see ``/CofferStorage/StoredName``.
  public func field(named field: String) throws(StoreError) -> ItemName {
    guard field.utf8.count <= RecordMeta.longestField else {
      throw StoreError(
        .invalidName, "a field name of \(field.utf8.count) bytes", cure: "use at most \(RecordMeta.longestField) bytes of UTF-8")
    }
    return ItemName(sealed: service, account, field: try StoredName.check(field, as: "field"))
  }

  /// The name of the item itself.
  public var item: ItemName { ItemName(sealed: service, account) }

  /// The name of a record that is there. Another writer may have given it one that ``init(service:account:)`` refuses; it can be
  /// read and removed by it all the same.
  package init(sealed service: String, _ account: String, field: String = "") {
    self.service = service
    self.account = account
    self.field = field
  }

  /// Whether both are the same bytes. Swift's own `==` on strings would take two spellings of `é` for one name.
  public static func == (left: ItemName, right: ItemName) -> Bool {
    left.service.hasSameBytes(as: right.service) && left.account.hasSameBytes(as: right.account)
      && left.field.hasSameBytes(as: right.field)
  }

  /// Hashes the bytes that ``==(_:_:)`` compares.
  public func hash(into hasher: inout Hasher) {
    for part in [service, account, field] {
      hasher.combine(part.utf8.count)
      for byte in part.utf8 { hasher.combine(byte) }
    }
  }

  /// By service, then account, then field, byte by byte: an item comes before its fields.
  public static func < (left: ItemName, right: ItemName) -> Bool {
    let order = left.service.byteOrder(right.service)
    guard order == 0 else { return order < 0 }
    let next = left.account.byteOrder(right.account)
    return next == 0 ? left.field.byteOrder(right.field) < 0 : next < 0
  }

  /// `service` or `service/account`, and `#field` after it.
  public var description: String {
    (account.isEmpty ? service : "\(service)/\(account)") + (field.isEmpty ? "" : "#\(field)")
  }
}
