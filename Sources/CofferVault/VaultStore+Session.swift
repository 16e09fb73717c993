public import CofferPlatform
public import CofferStorage
internal import CofferVaultFormat

// Reads the sealed descriptions of items for a logout, and no value.
extension VaultStore {
  /// The service of these items.
  public var part: String { service }

  /// The version of the item `name`, expired or not; `.absent` if there is none.
  public func version(of name: String) throws(StoreError) -> RecordVersion {
    let item = try ItemName(service: service, account: name)
    return try read(about: item) { (vault) throws(StoreError) in
      try vault.items.version(of: item)
    }
  }

  /// The items that a logout removes, expired ones too, with their versions.
  public func sessionItems() throws(StoreError) -> [String: RecordVersion] {
    try read { (vault) throws(StoreError) in
      try vault.sessionItems(service: service)
    }
  }
}
