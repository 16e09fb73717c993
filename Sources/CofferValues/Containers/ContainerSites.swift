internal import CofferPlatform
internal import CofferStorage
internal import Synchronization

/// Where the containers of this process are declared that took their names from properties: two private extensions in two files,
/// or two modules, may each have a property of one name, which no compiler sees.
enum ContainerSites {
  private struct Name: Hashable {
    let store: String
    let object: ObjectIdentifier?
    let key: String
  }

  private struct Entry: Sendable {
    let site: DeclarationSite
    /// Of a store without a file; another object may come to lie where it lay. Every store is Sendable, and only its being there
    /// is asked.
    nonisolated(unsafe) weak var object: AnyObject?
    let hasFile: Bool
  }

  private static let sites = Mutex<[Name: Entry]>([:])

  /// Why a container of the name `key` cannot be made at `site`: another site has the name in the same store. There are as many
  /// names as there are properties.
  static func refusal<R>(of key: String, at site: DeclarationSite, in store: any Store<R>) -> StoreError? {
    guard let (name, entry) = claim(key, site, store) else { return nil }
    let other = sites.withLock { sites -> DeclarationSite? in
      if let known = sites[name], known.hasFile || known.object != nil { return known.site == site ? nil : known.site }
      sites[name] = entry
      return nil
    }
    guard let other else { return nil }
    return StoreError(
      .duplicateKey, "two containers take this name: at \(other) and at \(site)", key: key, place: store.place,
      cure: "give one of the properties another name, or pass key: to one that is to share the value")
  }

  /// Nil for a store that is neither a file nor an object: nothing tells it from another.
  private static func claim<R>(_ key: String, _ site: DeclarationSite, _ store: any Store<R>) -> (Name, Entry)? {
    if store.place.hasPrefix("/") {
      return (Name(store: store.place + "\0" + store.part, object: nil, key: key), Entry(site: site, object: nil, hasFile: true))
    }
    guard type(of: store) is AnyObject.Type else { return nil }
    let object = store as AnyObject
    return (
      Name(store: store.place, object: ObjectIdentifier(object), key: key), Entry(site: site, object: object, hasFile: false)
    )
  }
}
