public import CofferPlatform
internal import CofferStorage

/// The address of an item: a service and an account, as in a keychain. Bytes of UTF-8, never normalized.
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
