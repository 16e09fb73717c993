package import CofferPlatform
package import CofferStorage

// What a logout asks: the sealed descriptions of the items, and no value.
extension VaultStore: SessionListing, ItemsOfService {
  package func version(of name: String) throws(StoreError) -> RecordVersion {
    let item = try ItemName(service: service, account: name)
    return try read { (vault) throws(StoreError) in
      try vault.items.version(of: item)
    }
  }

  package func sessionItems() throws(StoreError) -> [String: RecordVersion] {
    try read { (vault) throws(StoreError) in
      try vault.items.sessionItems(service: service)
    }
  }
}
