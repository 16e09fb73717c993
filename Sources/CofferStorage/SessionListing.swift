package import CofferPlatform

/// A store of the items of one service among those of a vault's file.
package protocol ItemsOfService: Store where R == Vault {
  /// The service whose items these are.
  var service: String { get }
}

/// A store of secrets that tells of its items without opening a value: of expired ones too, whose value nobody gets.
///
/// A store without this can take part in a session as long as none of its items has expired.
package protocol SessionListing: Store where R == Vault {
  /// The version of `name`; ``RecordVersion/absent`` where there is none.
  func version(of name: String) throws(StoreError) -> RecordVersion
  /// The items that say of themselves, in their metadata, that a logout removes them; with their versions, from one moment.
  func sessionItems() throws(StoreError) -> [String: RecordVersion]
}

extension Store where R == Vault {
  /// The version of `name`, of an expired one too where the store can tell.
  package func currentVersion(of name: String) throws(StoreError) -> RecordVersion {
    if let listing = self as? any SessionListing { return try listing.version(of: name) }
    return try load([name])[0].stamp
  }

  /// The items that a logout removes even where no key space declares them.
  func markedItems() throws(StoreError) -> [String: RecordVersion] {
    if let listing = self as? any SessionListing { return try listing.sessionItems() }
    let names = try names()
    var marked: [String: RecordVersion] = [:]
    for (name, reading) in zip(names, try load(names)) {
      if let form = reading.form, form.metadata.isSessionItem { marked[name] = reading.stamp }
    }
    return marked
  }
}

extension ItemMetadata {
  /// Whether a logout removes the item.
  package var isSessionItem: Bool { attributes[Self.endsWithSession] == "true" }
}
