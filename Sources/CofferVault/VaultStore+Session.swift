package import CofferPlatform
package import CofferStorage

// What a logout asks: the sealed descriptions of the items, and no value.
extension VaultStore: SessionListing, ItemsOfService {
  package func version(of name: String) throws(StoreError) -> RecordVersion {
    let item = try ItemName(service: service, account: name)
    return try read { (vault) throws(StoreError) in
      try vault.version(of: item)
    }
  }

  package func sessionItems() throws(StoreError) -> [String: RecordVersion] {
    try read { (vault) throws(StoreError) in
      try vault.sessionItems(service: service)
    }
  }
}

extension OpenVault {
  /// The items of `service` that a logout removes, by their descriptions alone.
  func sessionItems(service: String) throws(StoreError) -> [String: RecordVersion] {
    var marked: [String: RecordVersion] = [:]
    for item in try list(service: service) where item.metadata.isSessionItem {
      marked[item.name.account] = try version(of: item.name)
    }
    return marked
  }
}
