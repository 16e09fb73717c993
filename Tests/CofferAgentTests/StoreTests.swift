import CofferClient
import CofferTestSupport
import CofferMemory
import CofferPlatform
import CofferStorage
import CofferVault
import Foundation
import Testing

@testable import CofferAgent

@Suite struct StoreTests {
  @Test func `a request has so many names and no more, and so many bytes of values`() throws {
    let agent = try TestAgent()
    defer {
      agent.stop()
      TestAgent.remove(agent.folder)
    }
    let store = try agent.store()
    let most = AgentProtocol.mostNames
    let names = (0...most).map { "n\($0)" }
    #expect(kind { _ = try store.load(names) } == .tooLarge(limit: most))
    #expect(try store.load(Array(names.dropLast())).count == most)
    var batch = Batch<Vault>()
    for name in names { batch.writes[name] = .remove }
    #expect(kind { try store.commit(batch, decision: nil) } == .tooLarge(limit: most))
    let removals = try names.map { ItemChange.remove(try ItemName(service: "app", account: $0)) }
    #expect(kind { try agent.client().apply(removals) } == .tooLarge(limit: most))
    // The same for one value, requested repeatedly.
    try store.save(SecretForm(SecretBytes.random(VaultItem.largestValue)), for: "large")
    let most16 = AgentProtocol.mostLoaded
    #expect(kind { _ = try store.load([String](repeating: "large", count: 17)) } == .tooLarge(limit: most16))
    #expect(try store.load(["large", "large"]).count == 2)
  }

  @Test func `a store over the agent reads and writes as the vault's own does`() throws {
    let agent = try TestAgent()
    defer { agent.stop(); TestAgent.remove(agent.folder) }
    let store = try agent.store()
    let own = try VaultStore(service: "app", vault: agent.vault())
    #expect(try store.load("a") == nil && store.names() == [] && !store.contains("a"))
    try store.save(form("1"), for: "a")
    try own.save(form("2"), for: "b")
    #expect(try store.names() == ["a", "b"] && store.contains("b"))
    #expect(try store.load("b")?.text == "2" && own.load("a")?.text == "1")
    #expect(try store.load(["a", "x"]).map(\.stamp) == own.load(["a", "x"]).map(\.stamp))
    try store.save(nil, for: "a")
    #expect(try own.names() == ["b"])
    for name in ["a\nb", String(repeating: "n", count: 1025)] {
      #expect(kind { try store.save(form("v"), for: name) } == .invalidName)
      #expect(kind { _ = try store.load(name) } == .invalidName)
    }
    #expect(kind { _ = try AgentStore(service: "", vault: "", client: agent.client()) } == .invalidName)
    // A process that settles this store's transaction may run in another folder.
    let current = FileManager.default.currentDirectoryPath
    #expect(try AgentStore(service: "app", vault: "data/vault", client: agent.client()).place == current + "/data/vault")
  }

  @Test func `a store of another service asks the same agent for that service's items`() throws {
    let agent = try TestAgent()
    defer { agent.stop(); TestAgent.remove(agent.folder) }
    let store = try agent.store()
    let other = try store.store(ofService: "mail")
    try store.save(form("ours"), for: "a")
    try other.save(form("theirs"), for: "a")
    #expect(try store.load("a")?.text == "ours" && other.load("a")?.text == "theirs" && other.names() == ["a"])
    #expect(other.place == store.place && kind { _ = try store.store(ofService: "") } == .invalidName)
  }

  @Test func `a batch holds its expectations, all or nothing`() throws {
    let agent = try TestAgent()
    defer { agent.stop(); TestAgent.remove(agent.folder) }
    let store = try agent.store()
    try store.save(form("1"), for: "a")
    var batch = Batch<Vault>()
    batch.expectations = ["a": try store.load(["a"])[0].stamp, "b": .absent]
    batch.writes = ["a": .remove, "b": .set(try form("2"))]
    batch.decides = .random()
    try store.commit(batch, decision: nil)
    #expect(try store.names() == ["b"])
    let id = try #require(batch.decides)
    #expect(try DecidedTransactions.outcome(of: id, in: agent.settings.vault) == .committed)
    try store.commit(Batch(forgetting: id), decision: nil)
    #expect(try DecidedTransactions.outcome(of: id, in: agent.settings.vault) == nil)
    #expect(kind { try store.commit(batch, decision: nil) } == .conflict)
    #expect(try store.names() == ["b"])
    #expect(kind { try store.commit(batch, decision: Decision(place: "x") { _ in }) } == .unsupported)
  }

  @Test func `updates by many lose none, and their closures may not call in`() throws {
    let agent = try TestAgent()
    defer { agent.stop(); TestAgent.remove(agent.folder) }
    let (writers, rounds) = (6, 20)
    let group = DispatchGroup()
    for _ in 0..<writers {
      let store = try agent.store()
      group.enter()
      Thread.detachNewThread {
        for _ in 0..<rounds {
          do {
            try store.update("n") { (old) throws(StoreError) in
              do { return try form(String((Int(old?.text ?? "0") ?? 0) + 1)) } catch {
                throw StoreError(.unencodable, "no form", cure: "none")
              }
            }
          } catch { Issue.record(error) }
        }
        group.leave()
      }
    }
    group.wait()
    let store = try agent.store()
    #expect(try store.load("n")?.text == "\(writers * rounds)")
    #expect(kind { try store.update("n") { (_) throws(StoreError) in try store.load("x") } } == .reentrant)
    #expect(try store.load("n")?.text == "\(writers * rounds)")
  }

  @Test func `a router's transaction over both stores goes through the agent`() throws {
    struct Keys: KeySpace {
      let theme = StorageKey("theme", default: "light")
      let token = StorageKey("token", secret: String.self)
    }
    let agent = try TestAgent()
    defer { agent.stop(); TestAgent.remove(agent.folder) }
    let keys = Keys()
    let router = try StorageRouter(plain: MemoryStore<Plain>(), vault: agent.store(), spaces: [keys])
    try router.set(Sealed("t"), for: keys.token)
    try router.transaction { transaction in
      try transaction.set("dark", for: keys.theme)
      try transaction.set(Sealed("u"), for: keys.token)
    }
    #expect(try router.value(for: keys.theme) == "dark")
    #expect(try agent.store().load("token") != nil)
  }
}
