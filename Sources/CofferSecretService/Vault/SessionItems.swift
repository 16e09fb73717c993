internal import CofferStorage
internal import FoundationEssentials

/// The items of the collection that ends with the process: only in guarded memory, and never locked.
struct SessionItems: Sendable {
  private var items: [String: (item: StoredItem, secret: SecretForm)] = [:]
  /// The bytes of all items.
  private var held = 0

  /// Each search looks at all items.
  private static let most = 4096
  /// The most bytes of all items: endless storing must fail before memory ends. It is 128 of the largest secrets, and a
  /// quarter of a small machine's memory; the most items alone could be 8 GiB.
  static let mostBytes = 256 << 20

  /// All items with `attributes`, oldest first.
  func find(_ attributes: [String: String]) -> [StoredItem] {
    items.values.map(\.item).filter { $0.attributes.holds(attributes) }.sorted {
      ($0.created, $0.path.element) < ($1.created, $1.path.element)
    }
  }

  func item(_ element: String) -> StoredItem? { items[element]?.item }
  func secret(_ element: String) -> SecretForm? { items[element]?.secret }

  /// Stores an item under a new path, or a given one.
  mutating func set(_ draft: ItemDraft, _ secret: SecretForm, at element: String?) throws(Refusal) -> StoredItem {
    let old = element.flatMap { items[$0]?.item }
    guard old != nil || items.count < Self.most else {
      throw .limit("the session's collection has \(Self.most) items: delete some, or use the default collection")
    }
    let held = self.held - (element.map { size(at: $0) } ?? 0) + Self.size(draft.label, draft.attributes, secret)
    guard held <= Self.mostBytes else {
      throw .limit(
        "the session's collection has \(Self.mostBytes >> 20) MiB at most: delete some items, or use the default collection")
    }
    self.held = held
    let now = Date.now
    let element = element ?? VaultNaming.hexadecimal(UUID())
    let item = StoredItem(
      path: ItemPath(collection: CollectionState.session, element: element), label: draft.label, attributes: draft.attributes,
      created: old?.created ?? now, modified: now, id: old?.id ?? UUID(), revision: (old?.revision ?? 0) + 1)
    items[element] = (item, secret)
    return item
  }

  mutating func remove(_ element: String) -> Bool {
    held -= size(at: element)
    return items.removeValue(forKey: element) != nil
  }

  private func size(at element: String) -> Int {
    items[element].map { Self.size($0.item.label, $0.item.attributes, $0.secret) } ?? 0
  }

  private static func size(_ label: String, _ attributes: [String: String], _ secret: SecretForm) -> Int {
    secret.bytes.count + secret.metadata.contentType.utf8.count + label.utf8.count
      + attributes.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count }
  }
}
