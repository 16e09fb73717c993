import CofferTestSupport
import CofferStorage
import CofferVault
import Foundation
import Testing

@testable import CofferAgent

@Suite struct ItemTests {
  @Test func `a write may ask for the very item that was read`() throws {
    let agent = try TestAgent()
    defer { agent.stop(); TestAgent.remove(agent.folder) }
    let client = agent.client()
    let name = try ItemName(service: "s", account: "a")
    let first = try client.set(form("one"), for: name)
    let second = try client.set(form("two"), for: name, if: first.isUnchanged)
    #expect(kind { _ = try client.set(form("x"), for: name, if: first.isUnchanged) } == .conflict)
    _ = try client.remove(name)
    #expect(kind { _ = try client.set(form("x"), for: name, if: second.isUnchanged) } == .conflict)
    for _ in 0..<2 { _ = try client.set(form("another"), for: name) }
    #expect(try client.item(name)?.revision == second.revision)
    #expect(kind { _ = try client.set(form("x"), for: name, if: second.isUnchanged) } == .conflict)
    #expect(kind { _ = try client.remove(name, if: second.isUnchanged) } == .conflict)
    #expect(kind { try client.apply([.describe(name, as: ItemMetadata(label: "l"), if: second.isUnchanged)]) } == .conflict)
    #expect(try client.get(name)?.bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) } == "another")
  }

  @Test func `the agent removes in a pause what many removals in a row left in the file`() throws {
    let agent = try TestAgent()
    defer { agent.stop(); TestAgent.remove(agent.folder) }
    let client = agent.client()
    let other = try agent.vault()
    for number in 0..<20 { _ = try client.set(form("x"), for: ItemName(service: "s", account: "\(number)")) }
    var waited = false
    for number in 0..<20 {
      _ = try client.remove(ItemName(service: "s", account: "\(number)"))
      if try other.status().oldBytesRemain { waited = true }
    }
    #expect(waited)
    eventually("nothing is left") {
      do { return try !other.status().oldBytesRemain } catch { return false }
    }
  }

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
    #expect(try client.remove(name) && !client.remove(name))
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
    #expect(kind { try client.remove(name, if: .revision(7)) } == .conflict)
    let long = String(repeating: "x", count: VaultItem.largestValue + 1)
    #expect(kind { try client.set(form(long), for: name) } == .tooLarge(limit: VaultItem.largestValue))
    do { _ = try client.get(name) } catch { #expect(error.key == "host/me" && error.place?.hasSuffix("vault.sqlite") == true) }
    #expect(kind { try client.apply([.remove(name), .remove(name)]) } == .ambiguous)
  }

  @Test func `fields and what items were come through the agent as in the process that holds the vault`() throws {
    let agent = try TestAgent()
    defer { agent.stop(); TestAgent.remove(agent.folder) }
    let client = agent.client()
    let name = try ItemName(service: "host", account: "me")
    let pin = try name.field(named: "pin")
    #expect(kind { try client.set(form("1"), for: pin) } == .notFound)
    #expect(try client.set(form("first"), for: name, keeping: 2).history == 2)
    for value in ["second", "third"] { try client.set(form(value), for: name) }
    try client.set(form("4711"), for: pin)
    let own = try agent.vault()
    let fields = try own.fields(of: name)
    let revisions = try own.revisions(of: name)
    #expect(try client.fields(of: name) == fields && fields.map(\.name) == [pin])
    #expect(try client.get(pin)?.text == "4711" && client.list().count == 1)
    #expect(try client.revisions(of: name) == revisions && revisions.map(\.state) == [.present, .former, .former])
    #expect(try client.get(name, revision: 1)?.text == "first" && client.get(name, revision: 9) == nil)
    #expect(try client.revert(name, to: 1, if: .revision(3)).revision == 4)
    #expect(kind { try client.revert(name, to: 1) } == .notFound, "of two writes before the last it is the third")
    #expect(try client.remove(name, keptUntil: .distantFuture))
    let deleted = try own.deleted()
    #expect(try client.deleted() == deleted && deleted.count == 1 && client.deleted(service: "other").isEmpty)
    #expect(try client.undelete(name).revision == 5 && client.get(name)?.text == "first" && client.get(pin)?.text == "4711")
    #expect(kind { try client.undelete(name) } == .alreadyExists)
    #expect(try client.prune(.olderThan(Date(timeIntervalSince1970: 5))) == 0)
    #expect(try client.prune(.allBut(0), of: name) == 1 && client.revisions(of: name).count == 1)
    #expect(try client.remove(name, keptUntil: .distantFuture))
    #expect(try client.apply([.undelete(name)]).map(\.revision) == [6] && client.get(pin)?.text == "4711")
    for wrong in [101, 4_000_000_000] {
      #expect(kind { try client.set(form("x"), for: name, keeping: wrong) } == .tooLarge(limit: 100))
    }
    try client.apply([.remove(pin, keptUntil: .distantFuture), .set(form("last"), for: name, keeping: 0)])
    #expect(try client.deleted().map(\.item.name) == [pin] && client.revisions(of: name).count == 1)
    #expect(try own.log().last { $0.event == .pruned }?.process == UInt32(getpid()))
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
    // The second commit records that no byte of removed data is left.
    #expect(try agent.vault().status().generation == before + 2)
    #expect(kind { try client.apply([.set(form("w"), for: old), .remove(new, if: .revision(9))]) } == .conflict)
    #expect(try client.list().map(\.name) == [new])
  }

  @Test func `a rehearsal finds what a change would find, and changes nothing`() throws {
    let agent = try TestAgent()
    defer { agent.stop(); TestAgent.remove(agent.folder) }
    let client = agent.client()
    let name = try ItemName(service: "a")
    let item = try client.set(form("v"), for: name)
    let before = try agent.vault().status().generation
    let changes: [ItemChange] = [
      .set(try form("w"), for: name, if: item.isUnchanged), .set(try form("x"), for: try ItemName(service: "b")),
    ]
    try client.rehearse(changes)
    try agent.vault().rehearse(changes)
    #expect(try client.list().map(\.name) == [name] && client.item(name)?.revision == item.revision)
    #expect(kind { try client.rehearse([.set(try form("w"), for: name, if: .absent)]) } == .alreadyExists)
    #expect(kind { try client.rehearse([.remove(name), .remove(name)]) } == .ambiguous)
    #expect(try agent.vault().status().generation == before)
    // Rehearsed changes can be made, and later changes stay.
    #expect(try client.apply(changes).count == 2)
    #expect(try agent.vault().verify().items == 2)
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
