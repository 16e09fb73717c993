internal import CofferPlatform
internal import CofferStorage
internal import Synchronization

/// The declaration sites of containers named after properties. Two private extensions in two files, or two modules, may each
/// have a property of one name, which no compiler sees. Those of one file and type count as one property, which may make its
/// container in several places.
enum ContainerSites {
  private struct Name: Hashable {
    let store: String
    let object: ObjectIdentifier?
    let key: String
  }

  private struct Entry: Sendable {
    let site: DeclarationSite, type: Any.Type
    /// Of a store without a file: another object may reuse its address. Every store is Sendable, and this only asks whether
    /// it still exists.
    nonisolated(unsafe) weak var object: AnyObject?
    let hasFile: Bool
  }

  private static let sites = Mutex<[Name: Entry]>([:])

  /// The error if another site has the name `key` in the same store. The number of properties bounds the names.
  static func refusal<R>(of key: String, _ type: Any.Type, at site: DeclarationSite, in store: any Store<R>) -> StoreError? {
    guard let (name, entry) = claim(key, type, site, store) else { return nil }
    let other = sites.withLock { sites -> DeclarationSite? in
      if let known = sites[name], known.hasFile || known.object != nil {
        return known.site.fileID == site.fileID && known.type == type ? nil : known.site
      }
      sites[name] = entry
      return nil
    }
    guard let other else { return nil }
    return StoreError(
      .duplicateKey, "two containers take this name: at \(other) and at \(site)", key: key, place: store.place,
      cure: "give one of the properties another name, or pass key: to one that is to share the value")
  }

  /// Nil for a store that is neither a file nor an object, and so cannot be identified.
  private static func claim<R>(
    _ key: String, _ type: Any.Type, _ site: DeclarationSite, _ store: any Store<R>
  ) -> (Name, Entry)? {
    if store.place.hasPrefix("/") {
      return (
        Name(store: store.place + "\0" + store.part, object: nil, key: key),
        Entry(site: site, type: type, object: nil, hasFile: true)
      )
    }
    guard Swift.type(of: store) is AnyObject.Type else { return nil }
    let object = store as AnyObject
    return (
      Name(store: store.place, object: ObjectIdentifier(object), key: key),
      Entry(site: site, type: type, object: object, hasFile: false)
    )
  }
}
