public import CofferPlatform
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

/// The address of an item: a service and an account, as in a keychain. Bytes of UTF-8, never normalised.
public struct ItemName: Sendable, Hashable, Comparable, CustomStringConvertible {
  /// What the secret opens: a host, a URL, an app's domain.
  public let service: String
  /// Whose it is; may be empty.
  public let account: String

  /// The name of an item.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/invalidName``; see ``/CofferStorage/StoredName``.
  public init(service: String, account: String = "") throws(StoreError) {
    self.service = try StoredName.check(service, as: "service")
    self.account = account.isEmpty ? "" : try StoredName.check(account, as: "account")
  }

  /// The name of a record that is there. Another writer may have given it one that ``init(service:account:)`` refuses; it can be read
  /// and removed by it all the same.
  package init(sealed service: String, _ account: String) {
    self.service = service
    self.account = account
  }

  /// Whether both are the same bytes. Swift's own `==` on strings would take two spellings of `é` for one name.
  public static func == (left: ItemName, right: ItemName) -> Bool {
    left.service.hasSameBytes(as: right.service) && left.account.hasSameBytes(as: right.account)
  }

  /// Hashes the bytes that ``==(_:_:)`` compares.
  public func hash(into hasher: inout Hasher) {
    for part in [service, account] {
      hasher.combine(part.utf8.count)
      for byte in part.utf8 { hasher.combine(byte) }
    }
  }

  /// By service, then account, byte by byte.
  public static func < (left: ItemName, right: ItemName) -> Bool {
    let order = left.service.byteOrder(right.service)
    return order == 0 ? left.account.byteOrder(right.account) < 0 : order < 0
  }

  /// `service` or `service/account`.
  public var description: String { account.isEmpty ? service : "\(service)/\(account)" }
}
