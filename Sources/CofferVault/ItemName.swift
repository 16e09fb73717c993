public import CofferStorage

/// The address of an item: a service and an account, as in a keychain. Bytes of UTF-8, never normalised.
public struct ItemName: Sendable, Hashable, Comparable, CustomStringConvertible {
  /// What the secret opens: a host, a URL, an app's domain.
  public let service: String
  /// Whose it is; may be empty.
  public let account: String

  /// The name of an item.
  ///
  /// - Throws: ``StoreError/Kind/invalidName``; see ``StoredName``.
  public init(service: String, account: String = "") throws(StoreError) {
    self.service = try StoredName.check(service, as: "service")
    self.account = account.isEmpty ? "" : try StoredName.check(account, as: "account")
  }

  /// By service, then account, byte by byte.
  public static func < (left: ItemName, right: ItemName) -> Bool {
    if left.service != right.service { return left.service.utf8.lexicographicallyPrecedes(right.service.utf8) }
    return left.account.utf8.lexicographicallyPrecedes(right.account.utf8)
  }

  /// `service` or `service/account`.
  public var description: String { account.isEmpty ? service : "\(service)/\(account)" }
}
