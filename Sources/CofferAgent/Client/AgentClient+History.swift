public import CofferPlatform
public import CofferStorage
public import CofferVault

/// The previous versions of items and fields, as in ``UnlockedVault``.
extension AgentClient {
  /// The contents that are known of an item or a field, the newest first.
  public func revisions(of name: ItemName) throws(StoreError) -> [VaultRevision] {
    try ask(Calls.revisions, name)
  }

  /// Value and metadata that `name` had at `revision`, or has; nil where that content is not kept.
  public func get(_ name: ItemName, revision: UInt64) throws(StoreError) -> SecretForm? {
    try ask(Calls.revision, name, revision)
  }

  /// The items and fields that were deleted and can be brought back, by name.
  public func deleted(service: String? = nil) throws(StoreError) -> [VaultRevision] {
    try ask(Calls.deleted, service)
  }

  /// Stores the content that `name` had at `revision` once more.
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

  /// Removes former and deleted contents, and returns how many.
  @discardableResult
  public func prune(_ rule: PruneRule, of name: ItemName? = nil) throws(StoreError) -> Int {
    Int(clamping: try ask(Calls.prune, rule, name))
  }
}
