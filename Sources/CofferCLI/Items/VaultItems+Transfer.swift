internal import CofferAgent
internal import CofferPlatform
internal import CofferStorage
internal import CofferVault

extension VaultItems {
  /// The content of an item or field, expired or not.
  func content(of name: ItemName) throws -> SecretForm {
    guard case .form(let form)? = try ask(Calls.contents, [name]).first else { return try value(of: name) }
    return form
  }

  /// Adds all `items` in one transaction, or none.
  func add(_ items: [ImportedItem], duplicates: DuplicatePolicy) throws {
    _ = try ask { (agent) throws(StoreError) in
      try agent.add(items, duplicates: duplicates)
    } or: { (vault) throws(StoreError) in
      try vault.add(items, duplicates: duplicates)
    }
  }
}
