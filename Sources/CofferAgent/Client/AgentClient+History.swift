public import CofferPlatform
public import CofferStorage
public import CofferVault

/// The previous versions of items and fields, as in ``UnlockedVault``.
extension AgentClient {
  /// The contents that are known of an item or a field, the newest first.
  public func revisions(of name: ItemName) throws(StoreError) -> [VaultRevision] {
    try askForPages(.revisions) { (writer) throws(StoreError) in
      try writer.put(name)
    } element: { (fields) throws(StoreError) in
      try fields.revision()
    }
  }

  /// Value and metadata that `name` had at `revision`, or has; nil where that content is not kept.
  public func get(_ name: ItemName, revision: UInt64) throws(StoreError) -> SecretForm? {
    try ask(.revision, isWrite: false) { (writer) throws(StoreError) in
      try writer.put(name)
      try writer.put(revision)
    } answer: { (fields) throws(StoreError) in
      try fields.optionalForm()
    }
  }

  /// The items and fields that were deleted and can be brought back, by name.
  public func deleted(service: String? = nil) throws(StoreError) -> [VaultRevision] {
    try askForPages(.deleted) { (writer) throws(StoreError) in
      try writer.put(service)
    } element: { (fields) throws(StoreError) in
      try fields.revision()
    }
  }

  /// Stores the content that `name` had at `revision` once more.
  @discardableResult
  public func revert(
    _ name: ItemName, to revision: UInt64, if condition: WriteCondition = .always
  ) throws(StoreError) -> VaultItem {
    try ask(.revert, isWrite: true) { (writer) throws(StoreError) in
      try writer.put(name)
      try writer.put(revision)
      try writer.put(condition)
    } answer: { (fields) throws(StoreError) in
      try fields.item()
    }
  }

  /// Restores the last deletion of `name`.
  @discardableResult
  public func undelete(_ name: ItemName) throws(StoreError) -> VaultItem {
    try ask(.undelete, isWrite: true) { (writer) throws(StoreError) in
      try writer.put(name)
    } answer: { (fields) throws(StoreError) in
      try fields.item()
    }
  }

  /// Removes former and deleted contents, and returns how many.
  @discardableResult
  public func prune(_ rule: PruneRule, of name: ItemName? = nil) throws(StoreError) -> Int {
    try ask(.prune, isWrite: true) { (writer) throws(StoreError) in
      try writer.put(rule)
      try writer.put(name != nil)
      if let name { try writer.put(name) }
    } answer: { (fields) throws(StoreError) in
      Int(clamping: try fields.number(UInt64.self))
    }
  }
}
