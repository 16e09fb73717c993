public import CofferPlatform

extension StorageRouter {
  /// The members of `family` that have a value, ascending, each by what ``StorageKeyFamily/subscript(_:)`` takes. Opens no value.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/undeclared``, ``/CofferPlatform/StoreError/Kind/locked`` and the store's own failures.
  public func members<V, R>(of family: StorageKeyFamily<V, R>) throws(StoreError) -> [String] {
    guard let known = families.first(where: { $0.name == family.prefix }), known.site == family.site,
      known is StorageKeyFamily<V, R>
    else { throw undeclared(family) }
    try settle(known)
    let names: [String]
    do { names = try R.store(of: self).names() } catch { throw error.about(key: family.prefix) }
    return names.filter { family.owns($0) && $0.utf8.count > family.prefix.utf8.count }.map {
      String($0.utf8.dropFirst(family.prefix.utf8.count)) ?? $0
    }
  }

  /// The family that owns `name`.
  func family(of name: String) -> (any OpenedFamily)? { families.first { $0.owns(name) } }

  /// Whether this router was given `key`, or the family of which it is a member.
  package func declares<V, R>(_ key: StorageKey<V, R>) -> Bool {
    if let known = declared[key.name] { return known.site == key.site && known is StorageKey<V, R> }
    guard let family = family(of: key.name) else { return false }
    return family.site == key.site && family is StorageKeyFamily<V, R>
  }

  /// Checks what is known of a member only when it is used: its name, and that nothing has a value for it in the clear.
  func checkMember<V, R>(_ key: StorageKey<V, R>) throws(StoreError) {
    guard declared[key.name] == nil, let family = family(of: key.name) else { return }
    guard key.name.utf8.count > family.name.utf8.count else {
      throw StoreError(
        .invalidName, "a member without a name, of the family declared at \(key.site)", key: key.name,
        cure: "give the member a name of at least one byte")
    }
    do { try StoredName.check(key.name) } catch {
      throw StoreError(error.kind, "\(error.what), of the family declared at \(key.site)", cure: error.cure)
    }
    try Self.refuseUnstoredSecret(key, plain)
    try settle(family)
  }

  /// Refuses a key or a family among the names of another family.
  static func checkFamilies(
    _ families: [any OpenedFamily], _ declared: [String: any DeclaredKey]
  ) throws(StoreError) {
    for (index, family) in families.enumerated() {
      do { try StoredName.check(String(family.name.dropLast()), as: "family") } catch {
        throw StoreError(error.kind, "\(error.what), declared at \(family.site)", cure: error.cure)
      }
      for other in families[(index + 1)...] where family.owns(other.name) || other.owns(family.name) {
        throw overlap(other, family, family.name)
      }
      for key in declared.values.sorted(by: { $0.name < $1.name }) {
        for name in [key.name] + key.traits.formerNames where family.owns(name) { throw overlap(key, family, name) }
      }
      if let reserved = ReservedName.all.first(where: family.owns) {
        throw StoreError(
          .invalidName, "a family with a name that Coffer keeps for itself, declared at \(family.site)", key: reserved,
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
