public import CofferPlatform
public import CofferStorage
public import CofferVault

/// Previous versions of items and fields, as in ``UnlockedVault``.
extension AgentClient {
  /// The kept versions of an item or a field, newest first.
  public func revisions(of name: ItemName) throws(StoreError) -> [VaultRevision] {
    try ask(Calls.revisions, name)
  }

  /// Value and metadata of `name` at `revision`; nil if that version is not kept.
  public func get(_ name: ItemName, revision: UInt64) throws(StoreError) -> SecretForm? {
    try ask(Calls.revision, name, revision)
  }

  /// Deleted items and fields that can be restored, by name.
  public func deleted(service: String? = nil) throws(StoreError) -> [VaultRevision] {
    try ask(Calls.deleted, service)
  }

  /// Stores the content of `name` at `revision` again.
  @discardableResult
  public func revert(
    _ name: ItemName, to revision: UInt64, if condition: WriteCondition = .always
  ) throws(StoreError) -> VaultItem {
    try ask(Calls.revert, name, revision, condition)
  }

  /// Restores the last deletion of `name`.
  @discardableResult
  public func undelete(_ name: ItemName) throws(StoreError) -> VaultItem {
    try ask(Calls.undelete, name)
  }

  /// Removes previous versions and deleted items, and returns their number.
  @discardableResult
  public func prune(_ rule: PruneRule, of name: ItemName? = nil) throws(StoreError) -> Int {
    Int(clamping: try ask(Calls.prune, rule, name))
  }
}
