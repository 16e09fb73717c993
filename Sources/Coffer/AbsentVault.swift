internal import CofferPlatform
internal import CofferStorage

/// The store of secrets without a vault. Every call throws, because an absent vault must not read as an absent secret.
struct AbsentVault: DecidingStore {
  let refusal: StoreError
  var place: String { refusal.place ?? "no vault" }

  func load(_ name: String) throws(StoreError) -> SecretForm? { throw refusal.about(key: name) }
  func load(_ names: [String]) throws(StoreError) -> [Reading<Vault>] {
    guard let name = names.first else { return [] }
    throw refusal.about(key: name)
  }
  func names() throws(StoreError) -> [String] { throw refusal }
  func update(_ name: String, _ body: (SecretForm?) throws(StoreError) -> SecretForm?) throws(StoreError) {
    throw refusal.about(key: name)
  }
  func commit(_ batch: Batch<Vault>, decision: Decision?) throws(StoreError) { throw refusal }
}
