public import CofferPlatform
public import CofferStorage
internal import SystemPackage

/// A change to one item, as one of several that happen together.
public enum ItemChange: Sendable {
  /// Stores a value under the name, as ``UnlockedVault/set(_:for:if:)`` does.
  case set(SecretForm, for: ItemName, if: WriteCondition = .always)
  /// Removes the item of that name; does nothing where there is none, unless the condition asks for one.
  case remove(ItemName, if: WriteCondition = .always)
  /// Gives an item, expired or not, another name, with all that belongs to it and its dates; the condition is about what has that
  /// name already. Fails with ``/CofferPlatform/StoreError/Kind/notFound`` where there is no such item.
  case move(ItemName, to: ItemName, if: WriteCondition = .absent)

  /// The item that changes.
  public var name: ItemName {
    switch self {
    case .set(_, let name, _), .remove(let name, _), .move(let name, _, _): name
    }
  }

  fileprivate var names: [ItemName] {
    switch self {
    case .set(_, let name, _), .remove(let name, _): [name]
    case .move(let name, let new, _): [name, new]
    }
  }
}

extension UnlockedVault {
  /// Makes all of `changes` in one transaction, or none.
  ///
  /// - Returns: what a listing now says of each item that was set or moved, in order.
  /// - Throws: `StoreError` `.ambiguous` for a name given twice, and what ``set(_:for:if:)`` throws; nothing has changed then,
  ///   unless it is `.outcomeUnknown`.
  @discardableResult
  public borrowing func apply(_ changes: [ItemChange]) throws(StoreError) -> [VaultItem] {
    var names: Set<ItemName> = []
    for name in changes.flatMap(\.names) where !names.insert(name).inserted {
      throw StoreError(
        .ambiguous, "the item is changed twice in one step", key: name.description, place: path.string,
        cure: "make the changes one after the other")
    }
    return try core.write { (vault, sealed) throws(StoreError) in
      var items: [VaultItem] = []
      for change in changes {
        do throws(StoreError) {
          if let item = try vault.items.apply(change, &sealed) { items.append(item) }
        } catch { throw error.about(key: change.name.description) }
      }
      return items
    }
  }

  /// Removes `name` where `condition` holds; false when there was nothing.
  ///
  /// - Throws: `StoreError` `.conflict` when the item is not at the revision that the condition names, and what writing throws.
  @discardableResult
  public borrowing func delete(_ name: ItemName, if condition: WriteCondition) throws(StoreError) -> Bool {
    do throws(StoreError) {
      return try core.write { (vault, change) throws(StoreError) in
        try vault.items.require(condition, of: name)
        return try vault.items.remove(name, &change)
      }
    } catch { throw error.about(key: name.description) }
  }
}

extension ItemTable {
  /// Makes one change within a write transaction that has not touched its item before.
  fileprivate func apply(_ itemChange: ItemChange, _ change: inout Change) throws(StoreError) -> VaultItem? {
    switch itemChange {
    case .set(let form, let name, let condition): return try put(form, for: name, if: condition, &change)
    case .remove(let name, let condition):
      try require(condition, of: name)
      _ = try remove(name, &change)
      return nil
    case .move(let name, let new, let condition): return try move(name, to: new, if: condition, &change)
    }
  }

  fileprivate func require(_ condition: WriteCondition, of name: ItemName) throws(StoreError) {
    guard condition != .always else { return }
    try require(condition, revision: item(name)?.revision)
  }
}
