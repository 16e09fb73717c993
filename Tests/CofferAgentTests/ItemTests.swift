import CofferTestSupport
import CofferStorage
import CofferVault
import Foundation
import Testing

@testable import CofferAgent

@Suite struct ItemTests {
  @Test func `items come and go through the agent as in the process that holds the vault`() throws {
    let agent = try TestAgent()
    defer { agent.stop(); TestAgent.remove(agent.folder) }
    let client = agent.client()
    let name = try ItemName(service: "host", account: "me")
    #expect(try client.get(name) == nil)
    #expect(try client.item(name) == nil)
    let expiry = Date(timeIntervalSince1970: 4_000_000_000)
    let metadata = ItemMetadata(label: "Läbel", contentType: "text/plain", attributes: ["a": "1", "b": ""], expires: expiry)
    let item = try client.set(form("s3cret", metadata), for: name)
    #expect(item.revision == 1 && item.metadata == metadata && item.valueBytes == 6)
    #expect(try client.get(name)?.text == "s3cret")
    #expect(try client.get(name)?.metadata == metadata)
    let own = try agent.vault()
    let inProcess = try own.item(name)
    #expect(try client.item(name) == inProcess)
    #expect(try client.list() == [item] && client.list(service: "host") == [item] && client.list(service: "x") == [])
    #expect(try client.delete(name) && !client.delete(name))
  }

  @Test func `errors keep their kind, what they carry, and their key`() throws {
    let agent = try TestAgent()
    defer { agent.stop(); TestAgent.remove(agent.folder) }
    let client = agent.client()
    let name = try ItemName(service: "host", account: "me")
    try client.set(form("a", ItemMetadata(expires: Date(timeIntervalSince1970: 1))), for: name)
    #expect(kind { _ = try client.get(name) } == .expired)
    #expect(try client.item(name)?.revision == 1)
    #expect(kind { try client.set(form("b"), for: name, if: .absent) } == .alreadyExists)
    #expect(kind { try client.set(form("b"), for: name, if: .revision(7)) } == .conflict)
    #expect(kind { try client.delete(name, if: .revision(7)) } == .conflict)
    let long = String(repeating: "x", count: VaultItem.largestValue + 1)
    #expect(kind { try client.set(form(long), for: name) } == .tooLarge(limit: VaultItem.largestValue))
    do { _ = try client.get(name) } catch { #expect(error.key == "host/me" && error.place?.hasSuffix("vault.sqlite") == true) }
    #expect(kind { try client.apply([.remove(name), .remove(name)]) } == .ambiguous)
  }

  @Test func `a rename is one transaction`() throws {
    let agent = try TestAgent()
    defer { agent.stop(); TestAgent.remove(agent.folder) }
    let client = agent.client()
    let (old, new) = (try ItemName(service: "a"), try ItemName(service: "b"))
    try client.set(form("v"), for: old)
    let before = try agent.vault().status().generation
    try client.apply([.set(form("v"), for: new, if: .absent), .remove(old, if: .revision(1))])
    #expect(try client.list().map(\.name) == [new])
    #expect(try agent.vault().status().generation == before + 1)
    #expect(kind { try client.apply([.set(form("w"), for: old), .remove(new, if: .revision(9))]) } == .conflict)
    #expect(try client.list().map(\.name) == [new])
  }

  @Test func `the largest value and long listings pass`() throws {
    let agent = try TestAgent()
    defer { agent.stop(); TestAgent.remove(agent.folder) }
    let client = agent.client()
    let value = String(repeating: "y", count: VaultItem.largestValue)
    try client.set(form(value), for: ItemName(service: "large"))
    #expect(try client.get(ItemName(service: "large"))?.text == value)
    try client.apply((0..<1000).map { .set(try form("v"), for: try ItemName(service: "many", account: "account \($0)")) })
    let listed = try client.list(service: "many")
    let own = try agent.vault().list(service: "many")
    #expect(listed.count == 1000 && listed == own)
  }

  @Test func `sixty-four clients ask at once`() throws {
    let agent = try TestAgent()
    defer { agent.stop(); TestAgent.remove(agent.folder) }
    let (clients, rounds) = (64, 50)
    let names = try (0..<clients).map { try ItemName(service: "load", account: "\($0)") }
    for name in names { try agent.client().set(form(name.account), for: name) }
    let right = Counter()
    let group = DispatchGroup()
    for name in names {
      let client = agent.client()
      Thread.detachNewThread {
        do {
          for _ in 0..<rounds where try client.get(name)?.text == name.account { right.add() }
        } catch { Issue.record(error) }
        group.leave()
      }
      group.enter()
    }
    group.wait()
    #expect(right.count == clients * rounds)
  }
}

final class Counter: @unchecked Sendable {
  private let lock = NSLock()
  private var value = 0
  func add() { lock.withLock { value += 1 } }
  var count: Int { lock.withLock { value } }
}
