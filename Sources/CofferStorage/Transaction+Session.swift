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

  /// Requires the item `name` to be at `version` at the commit, without opening its value.
  package func expect(_ version: RecordVersion, of name: String) { vault.expect(version, of: name) }
}
