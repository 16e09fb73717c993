internal import CofferPlatform
internal import CofferStorage
internal import CofferVault
internal import Foundation

struct DyingVault: Store {
  typealias R = Vault
  private let store: VaultStore
  private let step: String?
  var place: String { store.place }
  var part: String { store.part }

  init(_ store: VaultStore, step: String?) {
    self.store = store
    self.step = step
  }

  func commit(_ batch: Batch<Vault>, decision: Decision?) throws(StoreError) {
    if step == "beforeVaultCommit" { Self.die() }
    try store.commit(batch, decision: decision)
    if step == "afterVaultCommit" { Self.die() }
  }

  func forget(_ transaction: TransactionID) throws(StoreError) {
    if step == "beforeForget" { Self.die() }
    try store.forget(transaction)
    if step == "afterForget" { Self.die() }
  }

  /// Ends this process unpreventably.
  static func die() { kill(getpid(), SIGKILL) }

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
