internal import CofferVault
internal import FoundationEssentials

/// Maps the vault's items to items of collections.
enum VaultNaming {
  /// The prefix of services that are collections.
  static let prefix = "secret-service:"
  /// The service whose items are the collections themselves.
  static let collections = "secret-service"
  /// The attribute that shows another service's item in the collection it names.
  static let shared = "secret-service"
  /// The prefix of an attribute of a collection's own item that gives it an alias.
  static let alias = "alias:"
  /// The service of sandboxed applications' portal secrets.
  static let portal = "xdg-desktop-portal"

  static func service(of collection: String) -> String { prefix + collection }

  /// The collection of a service; nil if it is none.
  static func collection(of service: String) -> String? { service.rest(after: prefix) }

  static func name(_ collection: String, _ account: String) throws(Refusal) -> ItemName {
    do throws(StoreError) { return try ItemName(service: service(of: collection), account: account) } catch {
      throw Refusal(error, at: ObjectPath.of(collection: collection))
    }
  }

  /// Nil for an item in no collection.
  static func stored(_ item: VaultItem) -> StoredItem? {
    let path: ItemPath, attributes: [String: String]
    let own = collection(of: item.name.service)
    if let collection = own {
      guard !collection.isEmpty, collection != CollectionState.session else { return nil }
      path = ItemPath(collection: collection, element: PathElement.encode(item.name.account))
      attributes = item.metadata.freeAttributes
    } else {
      guard let collection = item.metadata.attributes[shared], !collection.isEmpty, collection != CollectionState.session else {
        return nil
      }
      path = ItemPath(collection: collection, element: sharedStart + hexadecimal(item.id))
      attributes = sharedAttributes(item)
    }
    let label = item.metadata.label.isEmpty && own == nil ? item.name.description : item.metadata.label
    return StoredItem(
      path: path, label: label, attributes: attributes, created: item.created, modified: item.modified,
      id: item.id,
      revision: item.revision)
  }

  /// Attributes for searches: no program knows the item's name.
  private static func sharedAttributes(_ item: VaultItem) -> [String: String] {
    let attributes = item.metadata.freeAttributes
    let own = [
      "service": item.name.service, "server": item.name.service, "account": item.name.account, "username": item.name.account,
    ]
    return attributes.merging(own.filter { !$0.value.isEmpty }) { given, _ in given }
  }

  /// The prefix of a shared item's path element. No encoded text begins with it: there two digits follow each `_`.
  private static let sharedStart = "shared_u"

  /// Nil for a collection's own item.
  static func sharedID(_ element: String) -> String? {
    element.rest(after: sharedStart)
  }

  static func hexadecimal(_ id: UUID) -> String { id.uuidString.replacing("-", with: "").lowercased() }
}
