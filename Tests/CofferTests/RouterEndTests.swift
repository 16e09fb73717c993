internal import Coffer
internal import CofferPlatform
internal import CofferStorage
internal import Synchronization
internal import Testing

/// A foreign store, with its own files to sync and to close.
private final class CountingStore<R: Route>: Store {
  private let base: MemoryStore<R>
  private let calls = Mutex<[String]>([])
  let place = "counting"

  init(_ base: MemoryStore<R>) { self.base = base }

  var told: [String] { calls.withLock { $0 } }

  func synchronize() throws(StoreError) { calls.withLock { $0.append("synchronize") } }
  func close() throws(StoreError) { calls.withLock { $0.append("close") } }
  func load(_ name: String) throws(StoreError) -> R.Form? { try base.load(name) }
  func load(_ names: [String]) throws(StoreError) -> [Reading<R>] { try base.load(names) }
  func contains(_ name: String) throws(StoreError) -> Bool { try base.contains(name) }
  func names() throws(StoreError) -> [String] { try base.names() }
  func update(_ name: String, _ body: (R.Form?) throws(StoreError) -> R.Form?) throws(StoreError) { try base.update(name, body) }
  func commit(_ batch: Batch<R>, decision: Decision?) throws(StoreError) { try base.commit(batch, decision: decision) }
  func forget(_ transaction: TransactionID) throws(StoreError) { try base.forget(transaction) }
}

@Suite struct RouterEndTests {
  struct Keys: KeySpace {
    let theme = StorageKey("theme", default: "light")
  }

  @Test func `synchronizing a router asks both stores, whoever made them, and closing it the plain one`() throws {
    let plain = CountingStore(MemoryStore<Plain>()), vault = CountingStore(MemoryStore<Vault>())
    let app = try StorageRouter(plain: plain, vault: vault, keys: Keys())
    try app.synchronize()
    try app.close()
    #expect(plain.told == ["synchronize", "close"])
    #expect(vault.told == ["synchronize"], "whoever unlocked a vault locks it")
  }
}
