package import CofferStorage
package import CofferVault

/// The marks by which logins are told from other items.
package enum LoginItems {
  /// The attribute of tokens, which tells them from other items of a host.
  package static let mark = "coffer.auth"
  package static let token = "token"
  /// The service of the items that name the active accounts.
  package static let pointers = "coffer.auth"

  /// Whether an item says which account of a host is active, which is no secret.
  package static func isPointer(_ item: VaultItem) -> Bool { item.name.service == pointers }

  package static func isToken(_ item: VaultItem) -> Bool { isToken(item.metadata) }
  package static func isToken(_ metadata: ItemMetadata) -> Bool { metadata.attributes[mark] == token }
}

extension SecretForm {
  /// Whether both are the same bytes, or both are missing.
  package static func areSame(_ left: SecretForm?, _ right: SecretForm?) -> Bool {
    guard let left, let right else { return left == nil && right == nil }
    return left.bytes.isEqual(to: right.bytes)
  }
}
