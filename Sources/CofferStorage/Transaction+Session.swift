package import CofferPlatform

extension Transaction {
  /// Removes what ends with a session from both stores, once the transaction commits: the declared keys that say so, those in the
  /// domain's list, and the items whose sealed metadata says so. A login elsewhere that falls in between makes it run again.
  package func endSession() throws(StoreError) {
    let ending = router.declared.values.filter(\.traits.endsWithSession)
    // Before the listing: whatever a login adds between the two has then changed one of these as well.
    var items: [String: RecordVersion] = [:]
    for key in ending where key.traits.isSecret { items[key.name] = try router.vault.version(of: key.name) }
    for (name, version) in try router.vault.sessionItems() where items[name] == nil { items[name] = version }
    for (name, version) in items {
      vault.expect(version, of: name)
      if version != .absent { vault.writes[name] = .remove }
    }
    let listed = try sessionNames().names
    for name in Set(ending.filter { !$0.traits.isSecret }.map(\.name)).union(listed).union([ReservedName.endsWithSession]) {
      if try plain.stored(name) != nil { plain.writes[name] = .remove }
    }
  }

  /// Lets the transaction commit only while the item `name` is at `version`, which needs no opening of its value.
  package func expect(_ version: RecordVersion, of name: String) { vault.expect(version, of: name) }
}
