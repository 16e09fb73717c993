public import CofferPlatform
public import CofferStorage
internal import CofferVaultFormat
internal import CofferVaultRows
internal import FoundationEssentials

/// What the items and fields were: former contents, and deleted ones. A vault keeps none unless it was asked to, by
/// ``set(_:for:if:keeping:)`` or ``remove(_:if:keptUntil:)``; of items that end with a session it never does.
///
/// ```swift
/// try vault.set(password, for: name, keeping: 10)
/// for revision in try vault.revisions(of: name) { print(revision.item.revision, revision.item.modified) }
/// try vault.revert(name, to: 3)
/// ```
extension UnlockedVault {
  /// The contents that are known of an item or a field, the present one among them, the newest first; none where nothing is.
  public borrowing func revisions(of name: ItemName) throws(StoreError) -> [VaultRevision] {
    try about(name) { () throws(StoreError) in
      try core.read { (vault) throws(StoreError) in try vault.items.history.revisions(of: name) }
    }
  }

  /// Value and metadata that `name` had at `revision`, or has; nil where that content is not kept.
  ///
  /// - Throws: what ``get(_:)`` throws.
  public borrowing func get(_ name: ItemName, revision: UInt64) throws(StoreError) -> SecretForm? {
    try about(name) { () throws(StoreError) in
      try core.read { (vault) throws(StoreError) in try vault.items.history.form(name, revision: revision) }
    }
  }

  /// The deleted items and fields that can be restored, by name. Fields that were deleted with their item are not listed; they
  /// come back with it.
  public borrowing func deleted(service: String? = nil) throws(StoreError) -> [VaultRevision] {
    try core.read { (vault) throws(StoreError) in try vault.items.history.deleted(service: service) }
  }

  /// Stores the content that `name` had at `revision` once more, with its label, attributes and expiry: as a new revision, before
  /// which the present content is kept as any write keeps it.
  ///
  /// - Throws: `StoreError` `.notFound` where there is no such item or that content is not kept, and what
  ///   ``set(_:for:if:keeping:)`` throws.
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

  /// Restores the last deletion of `name`, an item with the fields that were deleted with it.
  ///
  /// - Throws: `StoreError` `.notFound` if nothing of it is kept, or if it is a field of a missing item; `.alreadyExists` if
  ///   there is such an item; the errors of writing.
  @discardableResult
  public borrowing func undelete(_ name: ItemName) throws(StoreError) -> VaultItem {
    try about(name) { () throws(StoreError) in
      try core.write { (vault, change) throws(StoreError) in try vault.items.history.undelete(name, &change) }
    }
  }

  /// Removes former and deleted contents.
  ///
  /// - Parameters:
  ///   - rule: which of each item and field.
  ///   - name: of which item with its fields, or of which field; nil for all.
  /// - Returns: how many were removed.
  @discardableResult
  public borrowing func prune(_ rule: PruneRule, of name: ItemName? = nil) throws(StoreError) -> Int {
    try core.write { (vault, change) throws(StoreError) in try vault.items.history.prune(rule, of: name, &change) }
  }
}
