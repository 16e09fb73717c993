public import CofferPlatform
public import CofferStorage
internal import CofferVaultFormat
public import FoundationEssentials

/// A change to one item, for `apply(_:)`.
public enum ItemChange: Sendable {
  /// Stores a value under the name, as `set(_:for:if:keeping:)` does.
  case set(SecretForm, for: ItemName, if: WriteCondition = .always, keeping: Int? = nil)
  /// Gives an item or field, expired or not, another label, content type, attributes and expiry, and leaves its value.
  /// Counts as a write: the revision grows, and `keeping` works as in `set`. Fails with
  /// ``/CofferPlatform/StoreError/Kind/notFound`` if the item is missing.
  case describe(ItemName, as: ItemMetadata, if: WriteCondition = .always, keeping: Int? = nil)
  /// Removes the item or field, as `remove(_:if:keptUntil:)` does. Does nothing if it is missing, unless the
  /// condition requires it.
  case remove(ItemName, if: WriteCondition = .always, keptUntil: Date? = nil)
  /// Renames an item, expired or not, with its fields, previous versions and dates. The condition applies to the new name.
  /// Fails with ``/CofferPlatform/StoreError/Kind/notFound`` if the item is missing. A field gets the name of a field.
  case move(ItemName, to: ItemName, if: WriteCondition = .absent)
  /// Restores the last deletion of an item or field, as ``UnlockedVault/undelete(_:)`` does.
  case undelete(ItemName)

  /// The item that changes.
  public var name: ItemName {
    switch self {
    case .set(_, let name, _, _), .describe(let name, _, _, _), .remove(let name, _, _), .move(let name, _, _),
      .undelete(let name):
      name
    }
  }

  fileprivate var names: [ItemName] {
    switch self {
    case .set(_, let name, _, _), .describe(let name, _, _, _), .remove(let name, _, _), .undelete(let name): [name]
    case .move(let name, let new, _): [name, new]
    }
  }
}

extension UnlockedVault {
  /// Makes all of `changes` in one transaction, or none.
  ///
  /// - Returns: the new listing of each item that was set, moved or restored, in order.
  /// - Throws: `StoreError` `.ambiguous` for a name given twice, and the errors of `set(_:for:if:keeping:)`. Only
  ///   `.outcomeUnknown` may leave a change.
  @discardableResult
  public borrowing func apply(_ changes: [ItemChange]) throws(StoreError) -> [VaultItem] {
    try checkNames(of: changes)
    return try core.writeOrQueue { (vault, sealed) throws(StoreError) in try vault.items.apply(changes, &sealed) }
  }

  /// Makes a change to an internal item, which `apply(_:)` refuses; to any other as `apply(_:)` does.
  ///
  /// - Returns: the new listing of an item that was set or moved.
  @discardableResult
  package borrowing func changeInternal(_ change: ItemChange) throws(StoreError) -> VaultItem? {
    try core.write { (vault, sealed) throws(StoreError) in
      let items = change.names.allSatisfy(\.isInternal) ? vault.items.whole : vault.items
      return try items.apply([change], &sealed).first
    }
  }

  /// Performs `apply(_:)` up to the commit, then rolls back. Call it before asking a person or a server for the content,
  /// to learn whether the vault can store it. Changes nothing and notifies nobody.
  ///
  /// - Throws: the errors of `apply(_:)` except `.outcomeUnknown`, including `.noSpace` and `.readOnly`.
  public borrowing func rehearse(_ changes: [ItemChange]) throws(StoreError) {
    try checkNames(of: changes)
    try core.rehearse { (vault, sealed) throws(StoreError) in _ = try vault.items.apply(changes, &sealed) }
  }

  private borrowing func checkNames(of changes: [ItemChange]) throws(StoreError) {
    var names: Set<ItemName> = []
    for name in changes.flatMap(\.names) where !names.insert(name).inserted {
      throw StoreError(
        .ambiguous, "the item is changed twice in one step", key: name.description, place: place.description,
        cure: "make the changes one after the other")
    }
  }

  /// Removes `name`, an item with its fields, if `condition` holds; false if there was nothing.
  ///
  /// - Parameters:
  ///   - name: the item or field.
  ///   - condition: the condition for the removal.
  ///   - date: until when ``undelete(_:)`` can restore it; `.distantFuture` forever. Nil also removes its history, even if
  ///     it was deleted earlier. An item that ends with a session always loses its history.
  /// - Throws: `StoreError` `.conflict` if the item is not at the condition's revision, and the errors of writing.
  @discardableResult
  public borrowing func remove(
    _ name: ItemName, if condition: WriteCondition = .always, keptUntil date: Date? = nil
  ) throws(StoreError) -> Bool {
    do throws(StoreError) {
      return try core.writeOrQueue { (vault, change) throws(StoreError) in
        try vault.items.require(condition, ofItem: name)
        return try vault.items.removals.remove(name, keptUntil: date, &change)
      }
    } catch { throw error.about(key: name.description) }
  }
}

extension ItemTable {
  func apply(_ changes: [ItemChange], _ sealed: inout Change) throws(StoreError) -> [VaultItem] {
    var items: [VaultItem] = [], living: Set<UUID>?
    for change in changes {
      do throws(StoreError) {
        if let item = try apply(change, &living, &sealed) { items.append(item) }
      } catch { throw error.about(key: change.name.description) }
    }
    return items
  }

  /// Must be the transaction's first change to its item.
  ///
  /// - Parameter living: the ids that an undeleted item must not have; nil before the first one.
  fileprivate func apply(
    _ itemChange: ItemChange, _ living: inout Set<UUID>?, _ change: inout Change
  ) throws(StoreError) -> VaultItem? {
    switch itemChange {
    case .set(let form, let name, let condition, let keeping):
      return try put(form, for: name, if: condition, keeping: keeping, &change)
    case .describe(let name, let metadata, let condition, let keeping):
      return try moves.describe(name, as: metadata, if: condition, keeping: keeping, &change)
    case .remove(let name, let condition, let date):
      try require(condition, ofItem: name)
      _ = try removals.remove(name, keptUntil: date, &change)
      return nil
    case .move(let name, let new, let condition): return try moves.move(name, to: new, if: condition, &change)
    case .undelete(let name): return try history.undelete(name, &living, &change)
    }
  }

  fileprivate func require(_ condition: WriteCondition, ofItem name: ItemName) throws(StoreError) {
    guard condition != .always else { return }
    try require(condition, of: item(name))
  }
}

/// The operations of a one-service store, for a holder of the vault that serves several services.
extension UnlockedVault {
  /// Several values of `service` from one moment.
  ///
  /// - Parameter mostBytes: the maximum bytes of all values.
  /// - Throws: ``/CofferPlatform/StoreError/Kind/tooLarge(limit:)`` above that; no value is returned.
  package borrowing func load(
    _ names: [String], service: String, mostBytes: Int = .max
  ) throws(StoreError) -> [Reading<Vault>] {
    try core.read { (vault) throws(StoreError) in
      try vault.items.load(names, service: service, mostBytes: mostBytes)
    }
  }

  package borrowing func contains(_ name: String, service: String) throws(StoreError) -> Bool {
    let item = try ItemName(service: service, account: name)
    return try core.read(about: item) { (vault) throws(StoreError) in
      try vault.items.version(of: item) != .absent
    }
  }

  /// Expired or not; ``RecordVersion/absent`` if there is none.
  package borrowing func version(of name: String, service: String) throws(StoreError) -> RecordVersion {
    let item = try ItemName(service: service, account: name)
    return try core.read(about: item) { (vault) throws(StoreError) in
      try vault.items.version(of: item)
    }
  }

  /// Includes expired items, with their versions from one moment.
  package borrowing func sessionItems(service: String) throws(StoreError) -> [String: RecordVersion] {
    try core.read { (vault) throws(StoreError) in
      try vault.sessionItems(service: service)
    }
  }

  /// Applies a batch of `service` in one transaction, or nothing.
  ///
  /// - Parameter check: throws if the batch is no longer wanted. Runs under the vault's lock: a caller that gave up before
  ///   cannot record that afterwards, and one that gives up later finds the batch committed.
  package borrowing func commit(
    _ batch: Batch<Vault>, service: String, if check: () throws(StoreError) -> Void = { () throws(StoreError) in }
  ) throws(StoreError) {
    try core.write { (vault, change) throws(StoreError) in
      try check()
      try vault.items.apply(batch, service: service, &change)
    }
  }

  /// Drops the record of a decided transaction.
  package borrowing func forget(_ transaction: TransactionID) throws(StoreError) {
    try core.run { (vault) throws(StoreError) in try vault.forget(transaction) }
  }
}
