import CofferMemory
import CofferPlatform
import CofferStorage
import Foundation
import Synchronization
import Testing

private struct TerseStore<R: Route>: Store {
  let base: MemoryStore<R>
  var place: String { "terse" }
  func load(_ name: String) throws(StoreError) -> R.Form? { try base.load(name) }
  func load(_ names: [String]) throws(StoreError) -> [Reading<R>] { try base.load(names) }
  func names() throws(StoreError) -> [String] { try base.names() }
  func update(_ name: String, _ body: (R.Form?) throws(StoreError) -> R.Form?) throws(StoreError) { try base.update(name, body) }
  func commit(_ batch: Batch<R>, decision: Decision?) throws(StoreError) { try base.commit(batch, decision: decision) }
}

extension TerseStore: DecidingStore where R == Vault {}
extension TerseStore: LayeredStore where R == Plain {}

@Suite struct StoreRequirementTests {
  private func secret(_ metadata: ItemMetadata = ItemMetadata()) throws -> SecretForm {
    SecretForm(try SecretBytes(zeros: 3), metadata: metadata)
  }

  @Test func `a store of secrets that says nothing more tells versions and session items by reading`() throws {
    let store = TerseStore(base: MemoryStore<Vault>())
    try store.save(secret(), for: "kept")
    try store.save(secret(ItemMetadata(attributes: [ItemMetadata.endsWithSession: "true"])), for: "token")
    #expect(try store.sessionItems() == ["token": store.base.version(of: "token")])
    #expect(try store.version(of: "kept") == store.base.version(of: "kept"))
    #expect(try store.version(of: "absent") == .absent)
    #expect(try store.part == "" && store.decisions == nil && store.contains("kept"))
  }

  @Test func `a store of preferences that says nothing more has one layer`() throws {
    let store = TerseStore(base: MemoryStore<Plain>())
    try store.save(.string("dark"), for: "theme")
    let explanation = try store.explain("theme")
    #expect(explanation.sources == [Explanation.Source(layer: .domain, place: "terse", form: .string("dark"))])
    #expect(try store.explain("absent").winner == nil)
    #expect(store.layers.unstoredSource("theme") == nil && store.layers.unstoredNames() == [])
    try store.synchronize()
    try store.close()
    #expect(try store.contains("theme"), "it holds nothing that a close would give back")
  }
}
