public import CofferPlatform
public import CofferStorage

// Reads the items' versions and descriptions for a session, also of expired items, and no value.
extension AgentStore {
  /// The service of these items.
  public var part: String { service }

  /// The version of the item `name`, expired or not; `.absent` if there is none.
  public func version(of name: String) throws(StoreError) -> RecordVersion {
    try client.ask(Calls.version, service, name)
  }

  /// The items that a logout removes, expired ones too, with their versions.
  public func sessionItems() throws(StoreError) -> [String: RecordVersion] {
    let items = try client.ask(Calls.marked, service)
    return Dictionary(items.map { ($0.name, $0.version) }) { $1 }
  }
}
