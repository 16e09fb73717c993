package import CofferPlatform
package import CofferStorage

// What a session asks: the items' versions and descriptions, of those that have expired too, and no value.
extension AgentStore: SessionListing, ItemsOfService {
  package func version(of name: String) throws(StoreError) -> RecordVersion {
    try client.ask(.version, isWrite: false) { (writer) throws(StoreError) in
      try writer.put(service)
      try writer.put(name)
    } answer: { (fields) throws(StoreError) in
      try fields.version()
    }
  }

  package func sessionItems() throws(StoreError) -> [String: RecordVersion] {
    let items = try client.askForPages(.marked) { (writer) throws(StoreError) in
      try writer.put(service)
    } element: { (fields) throws(StoreError) in
      (name: try fields.text(), version: try fields.version())
    }
    return Dictionary(items.map { ($0.name, $0.version) }) { $1 }
  }
}
