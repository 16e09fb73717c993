internal import CofferPlatform
internal import CofferStorage
internal import CofferVault
internal import Foundation

struct DyingVault: DecidingStore {
  private let store: VaultStore
  private let step: String?
  var place: String { store.place }
  var part: String { store.part }

  init(_ store: VaultStore, step: String?) {
    self.store = store
    self.step = step
  }

  func commit(_ batch: Batch<Vault>, decision: Decision?) throws(StoreError) {
    let part = batch.forgets == nil ? "VaultCommit" : "Forget"
    if step == "before\(part)" { Self.die() }
    try store.commit(batch, decision: decision)
    if step == "after\(part)" { Self.die() }
  }

  /// Ends this process unpreventably.
  static func die() { kill(getpid(), SIGKILL) }

  func load(_ name: String) throws(StoreError) -> SecretForm? { try store.load(name) }
  func load(_ names: [String]) throws(StoreError) -> [Reading<Vault>] { try store.load(names) }
  func names() throws(StoreError) -> [String] { try store.names() }
  func version(of name: String) throws(StoreError) -> RecordVersion { try store.version(of: name) }
  func sessionItems() throws(StoreError) -> [String: RecordVersion] { try store.sessionItems() }
  func update(_ name: String, _ body: (SecretForm?) throws(StoreError) -> SecretForm?) throws(StoreError) {
    try store.update(name, body)
  }
}
