internal import CofferStorage
internal import FoundationEssentials

/// The items of the collection that ends with the process: in guarded memory alone, and never locked.
struct SessionItems: Sendable {
  private var items: [String: (item: StoredItem, secret: SecretForm)] = [:]

  /// Items at most: a program that never stops storing is told so before memory ends.
  private static let most = 4096

  /// All that have `attributes`, the oldest first.
  func find(_ attributes: [String: String]) -> [StoredItem] {
    items.values.map(\.item).filter { $0.matches(attributes) }.sorted {
      ($0.created, $0.path.element) < ($1.created, $1.path.element)
    }
  }

  func item(_ element: String) -> StoredItem? { items[element]?.item }
  func secret(_ element: String) -> SecretForm? { items[element]?.secret }

  /// Stores an item under a new path, or under the one given.
  mutating func set(_ draft: ItemDraft, _ secret: SecretForm, at element: String?) throws(Refusal) -> StoredItem {
    let old = element.flatMap { items[$0]?.item }
    guard old != nil || items.count < Self.most else {
      throw .limit("the session's collection has \(Self.most) items: delete some, or use the default collection")
    }
    let now = Date.now
    let element = element ?? VaultNaming.hexadecimal(UUID())
    let item = StoredItem(
      path: ItemPath(collection: CollectionState.session, element: element), label: draft.label, attributes: draft.attributes,
      created: old?.created ?? now, modified: now, id: old?.id ?? UUID(), revision: (old?.revision ?? 0) + 1)
    items[element] = (item, secret)
    return item
  }

  /// Removes an item; false where there is none.
  mutating func remove(_ element: String) -> Bool { items.removeValue(forKey: element) != nil }
}
