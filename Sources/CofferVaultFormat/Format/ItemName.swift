public import CofferPlatform
internal import CofferStorage

/// The address of an item (a service and an account, as in a keychain) or of one of its fields, further secrets of the item
/// that are read and written separately. UTF-8 bytes, never normalized.
///
/// ```swift
/// let account = try ItemName(service: "bank.example", account: "ann")
/// try vault.set(password, for: account)
/// try vault.set(pin, for: account.field(named: "pin"))
/// ```
public struct ItemName: Sendable, Hashable, Comparable, Codable, CustomStringConvertible {
  /// The service of the secret: a host, a URL, an app's domain.
  public let service: String
  /// The owner of the secret; may be empty.
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

  /// The name of a field of the item, at most 256 bytes. An item has up to ``/CofferVault/VaultItem/mostFields``, which are
  /// renamed, exported and deleted with it.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/invalidName``; see ``/CofferStorage/StoredName``.
  public func field(named field: String) throws(StoreError) -> ItemName {
    guard field.utf8.count <= RecordMeta.longestField else {
      throw StoreError(
        .invalidName, "the field name has \(field.utf8.count) bytes",
        cure: "use at most \(RecordMeta.longestField) bytes of UTF-8")
    }
    return ItemName(sealed: service, account, field: try StoredName.check(field, as: "field"))
  }

  /// The name of the item itself.
  public var item: ItemName { ItemName(sealed: service, account) }

  /// The name of an existing record. Another writer may have given it one that ``init(service:account:)`` rejects; it can
  /// still be read and removed.
  package init(sealed service: String, _ account: String, field: String = "") {
    self.service = service
    self.account = account
    self.field = field
  }

  /// Whether both have the same bytes. Swift's `==` on strings treats two spellings of `é` as one name.
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

  /// Orders by service, account and field, byte by byte: an item comes before its fields.
  public static func < (left: ItemName, right: ItemName) -> Bool {
    let order = left.service.byteOrder(right.service)
    guard order == 0 else { return order < 0 }
    let next = left.account.byteOrder(right.account)
    return next == 0 ? left.field.byteOrder(right.field) < 0 : next < 0
  }

  /// `service` or `service/account`, followed by `#field` for a field.
  public var description: String {
    (account.isEmpty ? service : "\(service)/\(account)") + (field.isEmpty ? "" : "#\(field)")
  }
}
