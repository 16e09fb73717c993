public import CofferPlatform
public import CofferStorage
internal import CofferVaultFormat

/// Previous and deleted versions of items and fields. A vault keeps them only on request, by ``set(_:for:if:keeping:)`` or
/// ``remove(_:if:keptUntil:)``, and never for items that end with a session.
///
/// ```swift
/// try vault.set(password, for: name, keeping: 10)
/// for revision in try vault.revisions(of: name) { print(revision.item.revision, revision.item.modified) }
/// try vault.revert(name, to: 3)
/// ```
extension UnlockedVault {
  /// The known versions of an item or field, including the current one, newest first.
  public borrowing func revisions(of name: ItemName) throws(StoreError) -> [VaultRevision] {
    try about(name) { () throws(StoreError) in
      try core.read(about: name) { (vault) throws(StoreError) in try vault.items.history.revisions(of: name) }
    }
  }

  /// The value and metadata of `name` at `revision`; nil if that version is not kept.
  ///
  /// - Throws: the errors of `get(_:)`.
  public borrowing func get(_ name: ItemName, revision: UInt64) throws(StoreError) -> SecretForm? {
    try about(name) { () throws(StoreError) in
      try core.read(about: name) { (vault) throws(StoreError) in try vault.items.history.form(name, revision: revision) }
    }
  }

  /// The restorable items and fields, by name. Fields deleted with their item are omitted and come back with it.
  public borrowing func deleted(service: String? = nil) throws(StoreError) -> [VaultRevision] {
    try core.read { (vault) throws(StoreError) in try vault.items.history.deleted(service: service) }
  }

  /// Stores the content of `name` at `revision` as a new revision, with its label, attributes and expiry. The current
  /// version is kept as by any write.
  ///
  /// - Throws: `StoreError` `.notFound` if there is no such item or that version is not kept, and the errors of
  ///   `set(_:for:if:keeping:)`.
  @discardableResult
  public borrowing func revert(
    _ name: ItemName, to revision: UInt64, if condition: WriteCondition = .always
  ) throws(StoreError) -> VaultItem {
    try about(name) { () throws(StoreError) in
      try core.write { (vault, change) throws(StoreError) in
        try vault.items.history.revert(name, to: revision, if: condition, &change)
      }
    }
  }

  /// Restores the last deletion of `name`, an item with the fields deleted with it.
  ///
  /// - Throws: `StoreError` `.notFound` if nothing of it is kept, or for a field of a missing item; `.alreadyExists` if
  ///   there is such an item; the errors of writing.
  @discardableResult
  public borrowing func undelete(_ name: ItemName) throws(StoreError) -> VaultItem {
    try apply([.undelete(name)])[0]
  }

  /// Removes previous and deleted versions.
  ///
  /// - Parameters:
  ///   - rule: which versions of each item and field.
  ///   - name: an item with its fields, or a field; nil for all.
  /// - Returns: the number of removed versions.
  @discardableResult
  public borrowing func prune(_ rule: PruneRule, of name: ItemName? = nil) throws(StoreError) -> Int {
    try core.write { (vault, change) throws(StoreError) in try vault.items.history.prune(rule, of: name, &change) }
  }
}
