internal import CofferStorage
internal import CofferVault
internal import FoundationEssentials

/// How items of the vault become items of collections.
enum VaultNaming {
  /// Services that are collections begin with it.
  static let prefix = "secret-service:"
  /// The service whose items are the collections themselves.
  static let collections = "secret-service"
  /// The attribute that shows an item of another service in the collection it names.
  static let shared = "secret-service"
  /// The start of an attribute of a collection's own item that gives it an alias.
  static let alias = "alias:"
  /// The service of the secrets that sandboxed applications have by the portal.
  static let portal = "xdg-desktop-portal"

  static func service(of collection: String) -> String { prefix + collection }

  /// The collection that is the service of that name; nil for a service that is none.
  static func collection(of service: String) -> String? { service.rest(after: prefix) }

  /// The name of an item of a collection.
  static func name(_ collection: String, _ account: String) throws(Refusal) -> ItemName {
    do throws(StoreError) { return try ItemName(service: service(of: collection), account: account) } catch {
      throw Refusal(error, at: ObjectPath.of(collection: collection))
    }
  }

  /// The vault's item as an item of a collection; nil if it is in none.
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

  /// What programs search for: none of them knows under which name the item was stored.
  private static func sharedAttributes(_ item: VaultItem) -> [String: String] {
    let attributes = item.metadata.freeAttributes
    let own = [
      "service": item.name.service, "server": item.name.service, "account": item.name.account, "username": item.name.account,
    ]
    return attributes.merging(own.filter { !$0.value.isEmpty }) { given, _ in given }
  }

  /// The start of the path's last part of a shared item: no text becomes it, as `_` is always followed by two digits there.
  private static let sharedStart = "shared_u"

  /// The id of the shared item whose path ends so; nil for an item of the collection itself.
  static func sharedID(_ element: String) -> String? {
    element.rest(after: sharedStart)
  }

  static func hexadecimal(_ id: UUID) -> String { id.uuidString.replacing("-", with: "").lowercased() }
}
