package import CofferPlatform
package import CofferStorage

// What a logout asks: the sealed descriptions of the items, and no value.
extension VaultStore: SessionListing, ItemsOfService {
  package func version(of name: String) throws(StoreError) -> RecordVersion {
    let item = try ItemName(service: service, account: name)
    return try run { (vault) throws(StoreError) in
      try vault.reading { () throws(StoreError) in try vault.version(of: item) }
    }
  }

  package func sessionItems() throws(StoreError) -> [String: RecordVersion] {
    try run { (vault) throws(StoreError) in
      try vault.reading { () throws(StoreError) in
        var marked: [String: RecordVersion] = [:]
        for item in try vault.list(service: service) where item.metadata.isSessionItem {
          marked[item.name.account] = try vault.version(of: item.name)
        }
        return marked
      }
    }
  }
}
