internal import Coffer
internal import CofferStorage

/// A real vault store that ends the process before or after one of its parts.
struct DyingVault: SessionListing {
  typealias R = Vault
  let store: VaultStore
  let step: String?
  var place: String { store.place }

  init(_ store: VaultStore, step: String?) {
    self.store = store
    self.step = step
  }

  func commit(_ batch: Batch<Vault>, decision: Decision?) throws(StoreError) {
    if step == "beforeVaultCommit" { SessionTestTool.die() }
    try store.commit(batch, decision: decision)
    if step == "afterVaultCommit" { SessionTestTool.die() }
  }

  func forget(_ transaction: TransactionID) throws(StoreError) {
    if step == "beforeForget" { SessionTestTool.die() }
    try store.forget(transaction)
    if step == "afterForget" { SessionTestTool.die() }
  }

  func load(_ name: String) throws(StoreError) -> SecretForm? { try store.load(name) }
  func load(_ names: [String]) throws(StoreError) -> [Reading<Vault>] { try store.load(names) }
  func contains(_ name: String) throws(StoreError) -> Bool { try store.contains(name) }
  func names() throws(StoreError) -> [String] { try store.names() }
  func version(of name: String) throws(StoreError) -> RecordVersion { try store.version(of: name) }
  func sessionItems() throws(StoreError) -> [String: RecordVersion] { try store.sessionItems() }
  func update(_ name: String, _ body: (SecretForm?) throws(StoreError) -> SecretForm?) throws(StoreError) {
    try store.update(name, body)
  }
}
