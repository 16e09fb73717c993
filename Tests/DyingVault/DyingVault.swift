package import CofferPlatform
package import CofferStorage
package import CofferVault
internal import Foundation

/// A real vault store that ends the process before or after one of its parts.
package struct DyingVault: Store {
  package typealias R = Vault
  private let store: VaultStore
  private let step: String?
  package var place: String { store.place }
  package var part: String { store.part }

  package init(_ store: VaultStore, step: String?) {
    self.store = store
    self.step = step
  }

  package func commit(_ batch: Batch<Vault>, decision: Decision?) throws(StoreError) {
    if step == "beforeVaultCommit" { Self.die() }
    try store.commit(batch, decision: decision)
    if step == "afterVaultCommit" { Self.die() }
  }

  package func forget(_ transaction: TransactionID) throws(StoreError) {
    if step == "beforeForget" { Self.die() }
    try store.forget(transaction)
    if step == "afterForget" { Self.die() }
  }

  /// Ends this process as nobody can prevent.
  package static func die() { kill(getpid(), SIGKILL) }

  package func load(_ name: String) throws(StoreError) -> SecretForm? { try store.load(name) }
  package func load(_ names: [String]) throws(StoreError) -> [Reading<Vault>] { try store.load(names) }
  package func contains(_ name: String) throws(StoreError) -> Bool { try store.contains(name) }
  package func names() throws(StoreError) -> [String] { try store.names() }
  package func version(of name: String) throws(StoreError) -> RecordVersion { try store.version(of: name) }
  package func sessionItems() throws(StoreError) -> [String: RecordVersion] { try store.sessionItems() }
  package func update(_ name: String, _ body: (SecretForm?) throws(StoreError) -> SecretForm?) throws(StoreError) {
    try store.update(name, body)
  }
}
