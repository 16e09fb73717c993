internal import CofferStorage
internal import CofferVault

/// The marks by which logins are told from other items.
enum LoginItems {
  /// The attribute of tokens, which tells them from other items of a host.
  static let mark = "coffer.auth"
  static let token = "token"
  /// The service of the items that name the active accounts.
  static let pointers = "coffer.auth"

  /// Whether an item says which account of a host is active, which is no secret.
  static func isPointer(_ item: VaultItem) -> Bool { item.name.service == pointers }

  static func isToken(_ item: VaultItem) -> Bool { isToken(item.metadata) }
  static func isToken(_ metadata: ItemMetadata) -> Bool { metadata.attributes[mark] == token }
}

extension SecretForm {
  /// Whether both are the same bytes, or both are missing.
  static func areSame(_ left: SecretForm?, _ right: SecretForm?) -> Bool {
    guard let left, let right else { return left == nil && right == nil }
    return left.bytes.isEqual(to: right.bytes)
  }
}
