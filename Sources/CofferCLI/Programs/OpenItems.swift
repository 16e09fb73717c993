internal import Coffer

/// The items of the unlocked vault, as commands for other programs use them.
final class OpenItems {
  private let vault: UnlockedVault

  init(_ vault: consuming UnlockedVault) { self.vault = vault }

  func value(_ name: ItemName) throws(StoreError) -> SecretForm? { try vault.get(name) }
  func item(_ name: ItemName) throws(StoreError) -> VaultItem? { try vault.item(name) }
  func list(service: String? = nil) throws(StoreError) -> [VaultItem] { try vault.list(service: service) }
  func set(_ form: SecretForm, for name: ItemName, if condition: WriteCondition = .always) throws(StoreError) {
    try vault.set(form, for: name, if: condition)
  }
  func delete(_ name: ItemName) throws(StoreError) -> Bool { try vault.delete(name) }
}

extension Session {
  func openItems(_ unlocking: UnlockingOptions) throws -> OpenItems { OpenItems(try unlockedVault(unlocking)) }
}
