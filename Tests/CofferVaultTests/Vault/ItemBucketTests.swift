import CofferPlatform
import CofferStorage
import CofferTestSupport
import Foundation
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

@Suite struct ItemBucketTests {
  private let place: TemporaryVault
  private let name = ItemName(sealed: "svc", "a")

  init() throws { place = try TemporaryVault() }

  /// A new vault with `clock`, so that tests take no time.
  private func create(by clock: Mutable<Date>) throws -> UnlockedVault {
    UnlockedVault(
      try OpenVault.create(
        at: .file(place.path), with: TemporaryVault.credentials(), cost: nil, label: "", clock: { clock.value }))
  }

  private func buckets(_ table: String) throws -> Set<Int> {
    let places = try place.hex("SELECT coalesce(group_concat(hex(substr(idx, 1, 2))), '') FROM \(table)").split(separator: ",")
    return Set(places.map { (Int($0, radix: 16) ?? -1) >> 6 })
  }

  @Test func `all records of an item are in one bucket of each table, under every key`() throws {
    let vault = try place.create()
    for number in 0..<4 {
      try vault.set(form("value \(number)"), for: name, keeping: 3)
      for field in ["pin", "seed", "x"] { try vault.set(form("\(field) \(number)"), for: name.field(named: field), keeping: 3) }
    }
    for _ in 0..<3 {
      #expect(try buckets("rec").count == 1 && buckets("rec") == buckets("old"))
      #expect(try place.hex("SELECT (SELECT count(*) FROM rec) || '+' || (SELECT count(*) FROM old)") == "4+12")
      #expect(try place.hex("SELECT count(*) FROM digest") == "2" && vault.verify().records == 16)
      try vault.rotate()
    }
    try vault.remove(name, keptUntil: .distantFuture)
    #expect(try buckets("rec").isEmpty && buckets("old").count == 1)
    try vault.undelete(name)
    #expect(try vault.fields(of: name).count == 3 && buckets("rec") == buckets("old"))
  }

  @Test func `what one item needs to know of its past takes no other item's being sound`() throws {
    let vault = try place.create()
    let others = (0..<40).map { ItemName(sealed: "other", "\($0)") }
    for other in others { for number in 0..<2 { try vault.set(form("\(number)"), for: other, keeping: 1) } }
    for number in 0..<2 { try vault.set(form("\(number)"), for: name, keeping: 1) }
    let bucket = try vault.core.run { (vault) throws(StoreError) in vault.items.index(of: name).leadingBits }
    let byte = String(bucket >> 2, radix: 16)
    try place.attack("UPDATE old SET meta = zeroblob(144) WHERE substr(idx, 1, 1) <> x'\(byte.count < 2 ? "0" : "")\(byte)'")
    let again = try place.unlock()
    #expect(try again.revisions(of: name).map(\.item.revision) == [2, 1])
    try again.remove(name)
    #expect(try again.set(form("new"), for: name).revision == 1)
    #expect(kind { _ = try again.verify() } == .tampered)
  }

  @Test func `an item keeps its id through writes, other names, deletion, a rotation and an export; a new one has its own`()
    throws
  {
    let vault = try place.create()
    let id = try vault.set(form("1"), for: name, keeping: 2).id
    #expect(try vault.set(form("2"), for: name).id == id)
    #expect(try vault.revert(name, to: 1).id == id)
    let moved = ItemName(sealed: "moved", "b")
    try vault.apply([.move(name, to: moved)])
    #expect(try vault.item(moved)?.id == id && Set(vault.revisions(of: moved).map(\.item.id)) == [id])
    try vault.remove(moved, keptUntil: .distantFuture)
    try vault.rotate()
    #expect(try vault.undelete(moved).id == id)
    let other = try TemporaryVault()
    #expect(try vault.export(to: other.path, with: TemporaryVault.credentials()) == 1)
    #expect(try other.unlock().item(moved)?.id == id)
    #expect(try vault.set(form("x"), for: name).id != id)
    try vault.remove(moved)
    #expect(try vault.set(form("x"), for: moved).id != id)
    let field = try vault.set(form("x"), for: moved.field(named: "pin"))
    #expect(try field.id != vault.item(moved)?.id && field.id == vault.fields(of: moved).first?.id)
  }

  @Test func `a value is as old as its first writing, whatever is said of it since`() throws {
    let vault = try place.create()
    let first = try vault.set(form("old"), for: name, keeping: 5)
    #expect(first.written == first.modified && first.created == first.modified)
    Thread.sleep(forTimeInterval: 0.005)  // No event: the next is written later.
    let metadata = ItemMetadata(label: "now with a label", attributes: ["env": "prod"])
    let described = try #require(try vault.apply([.describe(name, as: metadata, if: .revision(1))]).first)
    #expect(described.revision == 2 && described.metadata == metadata && described.created == first.created)
    #expect(described.written == first.written && described.modified > first.modified)
    #expect(
      try text(vault.get(name)) == "old" && vault.revisions(of: name).map(\.item.metadata.label) == ["now with a label", ""])
    let second = try vault.set(form("new"), for: name)
    #expect(second.written == second.modified && second.written > first.written)
    #expect(try vault.revert(name, to: 1).written == first.written)
    let other = ItemName(sealed: "other", "")
    #expect(try vault.apply([.move(name, to: other)]).first?.written == first.written)
    try vault.rotate()
    #expect(try vault.item(other)?.written == first.written)
  }

  @Test func `what is said of an item is changed alone, and of no other than was meant`() throws {
    let vault = try place.create()
    let pin = try name.field(named: "pin")
    #expect(kind { try vault.apply([.describe(name, as: ItemMetadata())]) } == .notFound)
    let full = ItemMetadata(
      label: "l", contentType: "text/plain", attributes: ["a": "b"], expires: Date(timeIntervalSince1970: 1))
    try vault.set(form("value", full), for: name)
    try vault.set(form("4711"), for: pin)
    #expect(kind { _ = try vault.get(name) } == .expired)
    #expect(kind { try vault.apply([.describe(name, as: ItemMetadata(), if: .revision(9))]) } == .conflict)
    let long = ItemMetadata(label: String(repeating: "x", count: 1025))
    #expect(kind { try vault.apply([.describe(name, as: long)]) } == .tooLarge(limit: 1024))
    #expect(kind { try vault.apply([.describe(name, as: ItemMetadata(), keeping: 101)]) } == .tooLarge(limit: 100))
    #expect(try vault.item(name)?.metadata == full && vault.item(name)?.revision == 1)
    // An expired value returns once its expiry is removed; its fields stay unchanged.
    try vault.apply([.describe(name, as: ItemMetadata(), keeping: 3), .describe(pin, as: ItemMetadata(label: "PIN"))])
    #expect(try text(vault.get(name)) == "value" && text(vault.get(pin)) == "4711")
    #expect(try vault.item(name)?.metadata == ItemMetadata() && vault.item(name)?.history == 3)
    #expect(try vault.item(pin)?.metadata.label == "PIN" && vault.verify().records == 3)
  }

  @Test func `what was deleted comes back until its time, and its bytes go with the next deletion beside it or a pruning`() throws
  {
    let clock = Mutable(Date(timeIntervalSince1970: 1_700_000_000))
    let vault = try create(by: clock)
    let soon = clock.value.addingTimeInterval(0.4)
    let (other, third) = (ItemName(sealed: "svc", "b"), ItemName(sealed: "svc", "c"))
    for name in [name, other, third] { try vault.set(form("x"), for: name) }
    try vault.remove(name, keptUntil: soon)
    try vault.remove(other, keptUntil: clock.value.addingTimeInterval(3600))
    let kept = try vault.deleted()
    #expect(kept.map(\.item.name) == [name, other] && kept[0].until.map { abs($0.timeIntervalSince(soon)) < 0.002 } == true)
    clock.value = soon.addingTimeInterval(0.05)
    #expect(try vault.deleted().map(\.item.name) == [other] && vault.revisions(of: name).isEmpty)
    #expect(kind { try vault.undelete(name) } == .notFound)
    #expect(try place.hex("SELECT count(*) FROM old") == "2")
    #expect(try vault.prune(.expired) == 1 && place.hex("SELECT count(*) FROM old") == "1")
    // A deletion prunes expired contents of any item in its own bucket.
    try vault.remove(third, keptUntil: Date(timeIntervalSince1970: 5))
    #expect(try vault.deleted().map(\.item.name) == [other] && place.hex("SELECT count(*) FROM old") == "1")
    #expect(try vault.undelete(other).revision == 2)
  }

  @Test func `two deletions in one millisecond are two, and each item comes back with its own fields`() throws {
    let vault = try place.create()
    let pin = try name.field(named: "pin")
    try vault.set(form("x"), for: name)
    try vault.set(form("4711"), for: pin)
    try vault.remove(pin, keptUntil: .distantFuture)
    try vault.remove(name, keptUntil: .distantFuture)
    #expect(try vault.deleted().map(\.item.name) == [name, pin])
    try vault.undelete(name)
    #expect(try vault.fields(of: name).isEmpty && vault.deleted().map(\.item.name) == [pin])
    try vault.undelete(pin)
    try vault.remove(name, keptUntil: .distantFuture)
    try vault.rotate()
    #expect(try vault.deleted().map(\.item.name) == [name])
    try vault.undelete(name)
    #expect(try vault.fields(of: name).map(\.name) == [pin])
  }

  @Test func `a field of an item that ends with a session keeps nothing of its past`() throws {
    let vault = try place.create()
    let pin = try name.field(named: "pin")
    try vault.set(form("x", ItemMetadata(attributes: [ItemMetadata.endsWithSession: "true"])), for: name)
    for number in 0..<3 { #expect(try vault.set(form("\(number)"), for: pin, keeping: 10).history == 0) }
    try vault.remove(pin, keptUntil: .distantFuture)
    #expect(try vault.deleted().isEmpty && place.hex("SELECT count(*) FROM old") == "0")
  }

  @Test func `with the last deletion of what is not there, all that it was before goes`() throws {
    let clock = Mutable(Date(timeIntervalSince1970: 1_700_000_000))
    let vault = try create(by: clock)
    for number in 1...3 { try vault.set(form("password \(number)"), for: name, keeping: 10) }
    let soon = clock.value.addingTimeInterval(0.3)
    try vault.remove(name, keptUntil: soon)
    #expect(try text(vault.get(name, revision: 3)) == "password 3")
    clock.value = soon.addingTimeInterval(0.05)
    #expect(try vault.get(name, revision: 3) == nil && text(vault.get(name, revision: 1)) == "password 1")
    #expect(try vault.prune(.expired) == 3 && place.hex("SELECT count(*) FROM old") == "0")
    #expect(try vault.get(name, revision: 1) == nil && vault.log().last?.event == .pruned)
    // A past date deletes at once.
    for number in 1...3 { try vault.set(form("password \(number)"), for: name, keeping: 10) }
    try vault.remove(name, keptUntil: Date(timeIntervalSince1970: 5))
    #expect(try place.hex("SELECT count(*) FROM old") == "0" && vault.log().map(\.event).suffix(2) == [.itemDeleted, .pruned])
  }

  @Test func `what it is now stays when a deletion before it is over`() throws {
    let clock = Mutable(Date(timeIntervalSince1970: 1_700_000_000))
    let vault = try create(by: clock)
    let soon = clock.value.addingTimeInterval(0.3)
    try vault.set(form("1"), for: name, keeping: 10)
    try vault.remove(name, keptUntil: soon)
    for number in 2...3 { try vault.set(form("\(number)"), for: name, keeping: 10) }
    clock.value = soon.addingTimeInterval(0.05)
    #expect(try vault.prune(.expired) == 1)
    #expect(try vault.revisions(of: name).map(\.item.revision) == [3, 2] && text(vault.get(name, revision: 2)) == "2")
  }

  @Test func `a clock that is far ahead removes nothing that can still be brought back`() throws {
    let clock = Mutable(Date(timeIntervalSince1970: 1_700_000_000))
    let vault = try create(by: clock)
    let (pin, other) = (try name.field(named: "pin"), try name.field(named: "other"))
    try vault.set(form("v"), for: name)
    for field in [pin, other] { try vault.set(form("x"), for: field) }
    try vault.remove(pin, keptUntil: clock.value.addingTimeInterval(20 * 86400))
    clock.value += 31 * 86400
    try vault.remove(other, keptUntil: .distantFuture)
    clock.value -= 31 * 86400
    #expect(try vault.deleted().map(\.item.name) == [other, pin])
    clock.value += 21 * 86400
    try vault.set(form("x"), for: ItemName(service: "s"))
    for field in ["a", "b"] {
      try vault.set(form("x"), for: name.field(named: field))
      try vault.remove(name.field(named: field), keptUntil: .distantFuture)
    }
    #expect(
      try !vault.deleted().map(\.item.name).contains(pin) && vault.log().filter { $0.event == .pruned }.map(\.item) == [nil])
  }

  @Test func `what is described in one step with its item's removal or new name is not there`() throws {
    let vault = try place.create()
    let (pin, other) = (try name.field(named: "pin"), ItemName(sealed: "svc", "c"))
    try vault.set(form("1"), for: name)
    try vault.set(form("4711"), for: pin)
    let label = ItemMetadata(label: "l")
    #expect(kind { try vault.apply([.remove(name), .describe(pin, as: label)]) } == .notFound)
    #expect(kind { try vault.apply([.move(name, to: other), .describe(pin, as: label)]) } == .notFound)
    try vault.apply([.move(name, to: other), .describe(other.field(named: "pin"), as: label)])
    #expect(try vault.fields(of: other).map(\.metadata.label) == ["l"] && vault.verify().records == 2)
  }

  @Test func `an item that becomes one of a session keeps nothing that it or its fields were`() throws {
    let vault = try place.create()
    let pin = try name.field(named: "pin")
    for number in 0..<3 {
      try vault.set(form("token \(number)"), for: name, keeping: 5)
      try vault.set(form("pin \(number)"), for: pin, keeping: 5)
    }
    try vault.apply([.describe(name, as: ItemMetadata(attributes: [ItemMetadata.endsWithSession: "true"]))])
    #expect(try place.hex("SELECT count(*) FROM old") == "0" && vault.revisions(of: pin).count == 1)
    try vault.set(form("pin 4"), for: pin)
    #expect(try place.hex("SELECT count(*) FROM old") == "0" && vault.verify().records == 2)
  }
}
