internal import CofferPlatform

/// The keys and families of some key spaces, checked for conflicts.
package struct DeclaredKeys {
  /// Without members of families.
  let byName: [String: any DeclaredKey]
  /// No two of them own the same name, and none owns a key of ``byName``.
  let families: [any OpenedFamily]

  /// - Throws: ``/CofferPlatform/StoreError/Kind/duplicateKey`` naming both places,
  ///   ``/CofferPlatform/StoreError/Kind/invalidName``.
  init(_ spaces: [any KeySpace]) throws(StoreError) {
    var declared: [String: any DeclaredKey] = [:]
    let all = spaces.flatMap(\.declaredKeys)
    let keys = all.filter { !($0 is any OpenedFamily) }
    for key in keys {
      try Self.check(key)
      if let other = declared.updateValue(key, forKey: key.name) {
        throw StoreError(
          .duplicateKey, "declared twice: at \(other.site) and at \(key.site)", key: key.name,
          cure: "give one of them another name, or share one declaration")
      }
    }
    var claimed: [String: any DeclaredKey] = [:]
    for key in keys {
      for name in key.traits.formerNames {
        guard let other = declared[name] ?? claimed.updateValue(key, forKey: name) else { continue }
        throw StoreError(
          .duplicateKey, "a previous name of the key declared at \(key.site) is claimed at \(other.site) too", key: name,
          cure: "let only one key take over its value")
      }
    }
    let families = all.compactMap { $0 as? any OpenedFamily }
    try Self.checkFamilies(families, declared)
    byName = declared
    self.families = families
  }

  /// The keys, and for each family the key of a member without a name.
  var opened: [any OpenedKey] { byName.values.compactMap { $0 as? any OpenedKey } + families.map { $0.member(named: $0.name) } }

  /// The key stored as `name`, or the family that owns it.
  package func declaration(of name: String) -> (any DeclaredKey)? { byName[name] ?? family(of: name) }

  /// The key or family member stored as `name`; nil if the name cannot be one.
  func key(named name: String) -> (any OpenedKey)? {
    if let key = byName[name] as? any OpenedKey { return key }
    guard let family = family(of: name), name.utf8.count > family.name.utf8.count, StoredName.isValid(name) else { return nil }
    return family.member(named: name)
  }

  /// The name itself, and the former names of its key.
  package func places(of name: String) -> [String] { byName[name]?.names ?? [name] }

  func family(of name: String) -> (any OpenedFamily)? { families.first { $0.owns(name) } }

  /// Whether the plain store's value of `name` belongs in the vault.
  func isSecret(_ name: String) -> Bool {
    families.contains { $0.traits.isSecret && $0.owns(name) }
      || byName.values.contains { $0.traits.isSecret && $0.names.contains(name) }
  }

  private static func check(_ key: any DeclaredKey) throws(StoreError) {
    for name in key.names {
      do { try StoredName.check(name) } catch {
        throw StoreError(error.kind, "\(error.what), declared at \(key.site)", cure: error.cure)
      }
      guard ReservedName.owns(name) else { continue }
      throw StoreError(
        .invalidName, "the name is reserved for Coffer, declared at \(key.site)", key: name,
        cure: "give the key another name")
    }
  }

  private static func checkFamilies(
    _ families: [any OpenedFamily], _ declared: [String: any DeclaredKey]
  ) throws(StoreError) {
    for (index, family) in families.enumerated() {
      guard family.name.utf8.count < StoredName.longest else {
        throw StoreError(
          .invalidName, "the family name leaves no room for its members, declared at \(family.site)", key: family.name,
          cure: "use at most \(StoredName.longest - 2) bytes of UTF-8")
      }
      do { try StoredName.check(String(family.name.dropLast()), as: "family") } catch {
        throw StoreError(error.kind, "\(error.what), declared at \(family.site)", cure: error.cure)
      }
      // A property list treats names that are canonically equal in Unicode as one.
      for other in families[(index + 1)...] where other.name.hasPrefix(family.name) || family.name.hasPrefix(other.name) {
        throw overlap(other, family, family.name)
      }
      for key in declared.values.sorted(by: { $0.name < $1.name }) {
        for name in key.names where name.hasPrefix(family.name) { throw overlap(key, family, name) }
      }
      if let reserved = ReservedName.all.first(where: family.owns) ?? (ReservedName.owns(family.name) ? family.name : nil) {
        throw StoreError(
          .invalidName, "the family's name is reserved for Coffer, declared at \(family.site)", key: reserved,
          cure: "give the family another name")
      }
    }
  }

  private static func overlap(_ key: any DeclaredKey, _ family: any OpenedFamily, _ name: String) -> StoreError {
    StoreError(
      .duplicateKey, "declared at \(key.site), among the names of the family '\(family.name)' declared at \(family.site)",
      key: name,
      cure: "give one of them another name")
  }
}
