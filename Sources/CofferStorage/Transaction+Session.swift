package import CofferPlatform

extension Transaction {
  /// Removes the values that end with a session from both stores: declared keys and members of families, keys in the domain's
  /// list, items whose sealed metadata says so, and their remains under a former name or in the plain store. A concurrent
  /// login makes it run again.
  package func endSession() throws(StoreError) {
    let ending = router.declared.values.filter(\.traits.endsWithSession)
    let families = router.keys.families.filter(\.traits.endsWithSession)
    // Before the listing: a login between the two then changes one of these too.
    var items: [String: RecordVersion] = [:]
    for key in ending where key.traits.isSecret {
      for name in key.names { items[name] = try router.vault.version(of: name) }
    }
    let secretFamilies = families.filter(\.traits.isSecret)
    if !secretFamilies.isEmpty {
      for name in try router.vault.names() where secretFamilies.contains(where: { $0.owns(name) }) {
        items[name] = try router.vault.version(of: name)
      }
    }
    for (name, version) in try router.vault.sessionItems() where items[name] == nil { items[name] = version }
    for (name, version) in items {
      vault.expect(version, of: name)
      if version != .absent { vault.writes[name] = .remove }
    }
    let listed = try sessionNames()
    var names = Set(try router.plain.names().filter { name in listed.contains(name) || families.contains { $0.owns(name) } })
    for key in ending { names.formUnion(key.names) }
    var leavesSecrets = false
    for name in names.union([ReservedName.endsWithSession]) where try plain.stored(name) != nil {
      plain.writes[name] = .remove
      if router.keys.isSecret(name) { leavesSecrets = true }
    }
    // Noted in the same step: the next opener of the store finishes the scrubbing.
    if leavesSecrets { plain.writes[ReservedName.scrubPending] = .set(.bool(true)) }
  }

  /// Removes each family's `member` that ends with a session. Nil: see ``endSession()``.
  package func endSession(of member: String?) throws(StoreError) {
    guard let member else { return try endSession() }
    try endSessions { (family) throws(StoreError) in [family.name + member] }
  }

  /// Removes all members of the families that end with a session.
  package func endAllSessions() throws(StoreError) {
    let stored = try router.vault.names() + router.plain.names()
    try endSessions { (family) throws(StoreError) in Set(stored.filter(family.owns)) }
  }

  private func endSessions(_ names: (any DeclaredKey) throws(StoreError) -> Set<String>) throws(StoreError) {
    for family in router.keys.families where family.traits.endsWithSession {
      for name in try names(family) {
        if family.traits.isSecret {
          let version = try router.vault.version(of: name)
          vault.expect(version, of: name)
          if version != .absent { vault.writes[name] = .remove }
        }
        guard try plain.stored(name) != nil else { continue }
        plain.writes[name] = .remove
        // Noted in the same step, as for all sessions.
        if family.traits.isSecret { plain.writes[ReservedName.scrubPending] = .set(.bool(true)) }
      }
    }
  }

  /// Requires the item `name` to be at `version` at the commit, without opening its value.
  package func expect(_ version: RecordVersion, of name: String) { vault.expect(version, of: name) }
}
