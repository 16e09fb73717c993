package import CofferVault

package enum LoginItems {
  /// It marks tokens among the items of a host.
  package static let mark = ItemMetadata.login
  package static let token = ItemMetadata.loginToken
  /// Their items name active accounts.
  package static let pointers = ItemMetadata.login

  /// Whether an item names a host's active account, which is no secret.
  package static func isPointer(_ item: VaultItem) -> Bool { item.name.service == pointers }

  package static func isToken(_ item: VaultItem) -> Bool { isToken(item.metadata) }
  package static func isToken(_ metadata: ItemMetadata) -> Bool { metadata.attributes[mark] == token }
}

extension SecretForm {
  package static func areSame(_ left: SecretForm?, _ right: SecretForm?) -> Bool {
    guard let left, let right else { return left == nil && right == nil }
    return left.bytes.isEqual(to: right.bytes)
  }
}
