internal import Coffer
internal import CofferPlatform
internal import CofferStorage
internal import Synchronization
internal import Testing

/// A foreign store, with its own files to sync and to close.
private final class CountingStore: LayeredStore {
  private let base = MemoryStore<Plain>()
  private let calls = Mutex<[String]>([])
  let place = "counting"

  var told: [String] { calls.withLock { $0 } }

  func synchronize() throws(StoreError) { calls.withLock { $0.append("synchronize") } }
  func close() throws(StoreError) { calls.withLock { $0.append("close") } }
  func load(_ name: String) throws(StoreError) -> PlainForm? { try base.load(name) }
  func load(_ names: [String]) throws(StoreError) -> [Reading<Plain>] { try base.load(names) }
  func names() throws(StoreError) -> [String] { try base.names() }
  func update(_ name: String, _ body: (PlainForm?) throws(StoreError) -> PlainForm?) throws(StoreError) {
    try base.update(name, body)
  }
  func commit(_ batch: Batch<Plain>, decision: Decision?) throws(StoreError) { try base.commit(batch, decision: decision) }
}

@Suite struct RouterEndTests {
  struct Keys: KeySpace {
    let theme = StorageKey("theme", default: "light")
  }

  @Test func `synchronizing and closing a router asks its plain store, also one from elsewhere`() throws {
    let plain = CountingStore()
    let app = try StorageRouter(plain: plain, vault: MemoryStore<Vault>(), keys: Keys())
    try app.synchronize()
    try app.close()
    #expect(plain.told == ["synchronize", "close"])
  }
}
