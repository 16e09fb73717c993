internal import Coffer

/// The items of the vault, for commands that need no more than items: whoever holds the keys, a command works the same.
final class VaultItems {
  private let vault: UnlockedVault

  init(_ vault: consuming UnlockedVault) { self.vault = vault }

  /// Value and metadata of `name`; nil when there is no such item.
  func get(_ name: ItemName) throws -> SecretForm? { try vault.get(name) }

  /// All but the value of `name`; nil when there is no such item.
  func item(_ name: ItemName) throws -> VaultItem? { try vault.item(name) }

  /// All items, or those of one service, by name; no value is opened.
  func list(service: String? = nil) throws -> [VaultItem] { try vault.list(service: service) }

  /// Stores `form` under `name` and returns what a listing now says.
  @discardableResult
  func set(_ form: SecretForm, for name: ItemName, if condition: WriteCondition = .always) throws -> VaultItem {
    try vault.set(form, for: name, if: condition)
  }

  /// Removes `name`; false when there was nothing.
  @discardableResult
  func delete(_ name: ItemName, if condition: WriteCondition = .always) throws -> Bool {
    try vault.delete(name, if: condition)
  }

  /// Makes all of `changes` in one transaction, or none, and returns what a listing now says of each item that was set.
  @discardableResult
  func apply(_ changes: [ItemChange]) throws -> [VaultItem] { try vault.apply(changes) }
}

extension Session {
  /// The items of the vault, unlocked in the order of the sources.
  func items(_ options: UnlockingOptions) throws -> VaultItems { VaultItems(try unlockedVault(options)) }

  /// The items of one service as a store; nil where there is no vault.
  func secrets(service: String, _ options: UnlockingOptions) throws -> (any Store<Vault>)? {
    do { return try VaultStore(service: service, vault: unlockedVault(options)) } catch let error as StoreError {
      guard error.kind == .noVault else { throw error }
      return nil
    }
  }
}
