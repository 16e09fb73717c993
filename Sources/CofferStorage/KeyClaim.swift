internal import CofferPlatform
internal import Synchronization

/// Registers a router's keys in the process while the router lives, because no compiler sees that two routers over one domain
/// declare a name with two types.
final class KeyClaim: Sendable {
  private struct Name: Hashable {
    let place: String, key: String
  }
  private struct Entry {
    let type: Any.Type, site: DeclarationSite
    var routers = 0
  }
  private static let entries = Mutex<[Name: Entry]>([:])
  private let names: [Name]

  /// - Throws: ``/CofferPlatform/StoreError/Kind/duplicateKey`` naming both places. A key that reads a previous type is allowed
  ///   beside the older key.
  init(_ keys: DeclaredKeys, _ plain: any Store<Plain>, _ vault: any Store<Vault>) throws(StoreError) {
    // A store in memory, or a missing vault, has no place that another router could name.
    let plainPlace = plain.place.hasPrefix("/") || !plain.part.isEmpty ? "\(plain.place)\0\(plain.part)" : nil
    let vaultPlace = vault.part.isEmpty ? nil : "\(vault.place)\0\(vault.part)"
    let claims = keys.opened.compactMap { key -> (name: Name, key: any OpenedKey)? in
      guard key.traits.isOutdated == nil, let place = key.traits.isSecret ? vaultPlace : plainPlace else { return nil }
      return (Name(place: place, key: key.name), key)
    }
    try Self.entries.withLock { (entries) throws(StoreError) in
      for (name, key) in claims {
        guard let other = entries[name], other.type != key.storedType else { continue }
        throw StoreError(
          .duplicateKey,
          "two routers of this process declare it: at \(other.site) as \(other.type) and at \(key.site) as \(key.storedType)",
          key: key.name, place: key.traits.isSecret ? vault.place : plain.place,
          cure: "give one of them another name, or share one declaration")
      }
      for (name, key) in claims { entries[name, default: Entry(type: key.storedType, site: key.site)].routers += 1 }
    }
    names = claims.map(\.name)
  }

  deinit {
    Self.entries.withLock { entries in
      for name in names {
        entries[name]?.routers -= 1
        if entries[name]?.routers == 0 { entries[name] = nil }
      }
    }
  }
}
