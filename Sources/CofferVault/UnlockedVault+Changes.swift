internal import CofferMemory
public import CofferPlatform
public import CofferStorage
internal import CofferVaultFormat
internal import CofferVaultRows
public import FoundationEssentials
internal import SystemPackage

/// A change to one item, as one of several that happen together.
public enum ItemChange: Sendable {
  /// Stores a value under the name, as ``UnlockedVault/set(_:for:if:keeping:)`` does.
  case set(SecretForm, for: ItemName, if: WriteCondition = .always, keeping: Int? = nil)
  /// Gives an item or field, expired or not, another label, content type, attributes and expiry, and leaves its value. It counts
  /// as a write: the revision grows, and `keeping` is as for `set`. Fails with ``/CofferPlatform/StoreError/Kind/notFound`` where
  /// there is none.
  case describe(ItemName, as: ItemMetadata, if: WriteCondition = .always, keeping: Int? = nil)
  /// Removes the item or field of that name, as ``UnlockedVault/remove(_:if:keptUntil:)`` does; does nothing where there is none,
  /// unless the condition asks for one.
  case remove(ItemName, if: WriteCondition = .always, keptUntil: Date? = nil)
  /// Gives an item, expired or not, another name, with its fields, its former contents and its dates; the condition is about what
  /// has that name already. Fails with ``/CofferPlatform/StoreError/Kind/notFound`` where there is no such item. A field gets the
  /// name of a field.
  case move(ItemName, to: ItemName, if: WriteCondition = .absent)

  /// The item that changes.
  public var name: ItemName {
    switch self {
    case .set(_, let name, _, _), .describe(let name, _, _, _), .remove(let name, _, _), .move(let name, _, _): name
    }
  }

  fileprivate var names: [ItemName] {
    switch self {
    case .set(_, let name, _, _), .describe(let name, _, _, _), .remove(let name, _, _): [name]
    case .move(let name, let new, _): [name, new]
    }
  }
}

extension UnlockedVault {
  /// Makes all of `changes` in one transaction, or none.
  ///
  /// - Returns: what a listing now says of each item that was set or moved, in order.
  /// - Throws: `StoreError` `.ambiguous` for a name given twice, and what ``set(_:for:if:keeping:)`` throws; nothing has changed
  ///   then, unless it is `.outcomeUnknown`.
  @discardableResult
  public borrowing func apply(_ changes: [ItemChange]) throws(StoreError) -> [VaultItem] {
    try checkNames(of: changes)
    return try core.write { (vault, sealed) throws(StoreError) in try vault.items.apply(changes, &sealed) }
  }

  /// Writes all of `changes` as ``apply(_:)`` does, up to the commit, and takes them back: whoever asks a person or a server for
  /// what is stored next hears before that whether it can be stored. Nothing has changed afterwards, and nobody is told of
  /// anything.
  ///
  /// - Throws: what ``apply(_:)`` throws, `.noSpace` and `.readOnly` among it, but for `.outcomeUnknown`.
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

  /// Removes `name` where `condition` holds, an item with its fields; false when there was nothing.
  ///
  /// - Parameters:
  ///   - name: the item, or the field.
  ///   - condition: what must be so for the removal to happen.
  ///   - date: until when it can be brought back, by ``undelete(_:)``; `.distantFuture` for good. Where it is nil, all that is
  ///     known of its past goes as well, also where it was deleted before, and so does what ends with a session in any case.
  /// - Throws: `StoreError` `.conflict` when the item is not at the revision that the condition names, and what writing throws.
  @discardableResult
  public borrowing func remove(
    _ name: ItemName, if condition: WriteCondition = .always, keptUntil date: Date? = nil
  ) throws(StoreError) -> Bool {
    do throws(StoreError) {
      return try core.write { (vault, change) throws(StoreError) in
        try vault.items.require(condition, ofItem: name)
        return try vault.items.removals.remove(name, keptUntil: date, &change)
      }
    } catch { throw error.about(key: name.description) }
  }
}

extension ItemTable {
  /// Makes all of `changes` within a write transaction, and returns what a listing now says of each item that was set or moved.
  fileprivate func apply(_ changes: [ItemChange], _ sealed: inout Change) throws(StoreError) -> [VaultItem] {
    var items: [VaultItem] = []
    for change in changes {
      do throws(StoreError) {
        if let item = try apply(change, &sealed) { items.append(item) }
      } catch { throw error.about(key: change.name.description) }
    }
    return items
  }

  /// Makes one change within a write transaction that has not touched its item before.
  fileprivate func apply(_ itemChange: ItemChange, _ change: inout Change) throws(StoreError) -> VaultItem? {
    switch itemChange {
    case .set(let form, let name, let condition, let keeping):
      return try put(form, for: name, if: condition, keeping: keeping, &change)
    case .describe(let name, let metadata, let condition, let keeping):
      return try describing.describe(name, as: metadata, if: condition, keeping: keeping, &change)
    case .remove(let name, let condition, let date):
      try require(condition, ofItem: name)
      _ = try removals.remove(name, keptUntil: date, &change)
      return nil
    case .move(let name, let new, let condition): return try moves.move(name, to: new, if: condition, &change)
    }
  }

  fileprivate func require(_ condition: WriteCondition, ofItem name: ItemName) throws(StoreError) {
    guard condition != .always else { return }
    try require(condition, of: item(name))
  }
}

/// What a store of one service does, for whoever holds the vault for several services at once.
extension UnlockedVault {
  /// Several values of `service` from one moment.
  ///
  /// - Parameter mostBytes: bytes of all values together, at most.
  /// - Throws: ``/CofferPlatform/StoreError/Kind/tooLarge(limit:)`` for more; nothing is handed out then.
  package borrowing func load(
    _ names: [String], service: String, mostBytes: Int = .max
  ) throws(StoreError) -> [Reading<Vault>] {
    try core.read { (vault) throws(StoreError) in
      try vault.items.load(names, service: service, mostBytes: mostBytes)
    }
  }

  /// Whether `service` has an item of that name, expired or not.
  package borrowing func contains(_ name: String, service: String) throws(StoreError) -> Bool {
    let item = try ItemName(service: service, account: name)
    return try core.read { (vault) throws(StoreError) in
      try vault.items.version(of: item) != .absent
    }
  }

  /// The version of the item of that name, expired or not; ``RecordVersion/absent`` where there is none.
  package borrowing func version(of name: String, service: String) throws(StoreError) -> RecordVersion {
    let item = try ItemName(service: service, account: name)
    return try core.read { (vault) throws(StoreError) in
      try vault.items.version(of: item)
    }
  }

  /// The items of `service` that a logout removes, expired ones too, with their versions from one moment.
  package borrowing func sessionItems(service: String) throws(StoreError) -> [String: RecordVersion] {
    try core.read { (vault) throws(StoreError) in
      try vault.sessionItems(service: service)
    }
  }

  /// Applies a batch of `service` in one transaction, or nothing.
  ///
  /// - Parameter check: throws where the batch is no longer wanted. Asked under the vault's lock: who has given the batch up by
  ///   then has not been able to record that since, and who gives it up later will find it committed.
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
