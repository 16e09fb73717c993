import CofferMemory
import CofferPlatform
import CofferStorage
import CofferTestSupport
import Foundation
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

@Suite struct HistoryTests {
  private let place: TemporaryVault
  private let name = ItemName(sealed: "svc", "a")

  init() throws { place = try TemporaryVault() }

  private func written(_ count: Int, keeping: Int?) throws -> UnlockedVault {
    let vault = try place.create()
    for number in 1...count { try vault.set(form("value \(number)"), for: name, keeping: keeping) }
    return vault
  }

  private func numbers(_ vault: borrowing UnlockedVault, _ name: ItemName? = nil) throws -> [UInt64] {
    try vault.revisions(of: name ?? self.name).map(\.item.revision)
  }

  private func old() throws -> Int { Int(try place.hex("SELECT count(*) FROM old")) ?? -1 }

  @Test func `nothing is kept unless someone asks for it`() throws {
    let vault = try written(5, keeping: nil)
    try vault.remove(name)
    try vault.set(form("again"), for: name)
    #expect(try numbers(vault) == [1] && vault.item(name)?.history == 0)
    #expect(try vault.get(name, revision: 4) == nil && vault.deleted().isEmpty)
    #expect(try old() == 0 && vault.verify().records == 1)
  }

  @Test(arguments: [1, 3, 100]) func `the contents of so many writes before the last are kept`(keeping: Int) throws {
    let vault = try written(105, keeping: keeping)
    let expected = (UInt64(105 - keeping)...105).reversed()
    #expect(try numbers(vault) == Array(expected) && old() == keeping)
    for revision in expected { #expect(try text(vault.get(name, revision: revision)) == "value \(revision)") }
    #expect(try vault.get(name, revision: UInt64(104 - keeping)) == nil)
    #expect(try vault.revisions(of: name).map(\.state) == [.present] + Array(repeating: .former, count: keeping))
    #expect(try vault.item(name)?.history == keeping)
    // A write without this option keeps it; another process reads the same.
    try vault.set(form("value 106"), for: name)
    #expect(try place.unlock().revisions(of: name).map(\.item.revision).min() == UInt64(106 - keeping))
    #expect(try old() == keeping && vault.verify().records == keeping + 1 && vault.status().items == 1)
  }

  @Test func `how many are kept can be raised and lowered, and none is more than a hundred`() throws {
    let vault = try written(6, keeping: 5)
    try vault.set(form("value 7"), for: name, keeping: 2)
    #expect(try numbers(vault) == [7, 6, 5])
    try vault.set(form("value 8"), for: name, keeping: 4)
    #expect(try numbers(vault) == [8, 7, 6, 5])
    try vault.set(form("value 9"), for: name, keeping: 0)
    #expect(try numbers(vault) == [9] && old() == 0)
    for wrong in [101, -1, Int.max] {
      #expect(kind { try vault.set(form("x"), for: name, keeping: wrong) } == .tooLarge(limit: 100))
    }
    #expect(try numbers(vault) == [9])
  }

  @Test func `going back stores the former content once more, with all that was said of it`() throws {
    let vault = try place.create()
    let then = ItemMetadata(label: "then", contentType: "text/a", attributes: ["k": "old"], expires: .distantFuture)
    try vault.set(form("old", then), for: name, keeping: 3)
    let created = try #require(try vault.item(name)?.created)
    try vault.set(form("new", ItemMetadata(label: "now", attributes: ["k": "new"])), for: name)
    let back = try vault.revert(name, to: 1)
    #expect(back.revision == 3 && back.metadata.label == "then" && back.created == created && back.history == 3)
    #expect(text(try vault.get(name)) == "old")
    #expect(try vault.get(name)?.metadata == vault.get(name, revision: 1)?.metadata)
    #expect(try text(vault.get(name, revision: 2)) == "new" && numbers(vault) == [3, 2, 1])
    #expect(try vault.revert(name, to: 3) == back, "the present content is there already")
    #expect(kind { try vault.revert(name, to: 9) } == .notFound)
    #expect(kind { try vault.revert(name, to: 1, if: .revision(2)) } == .conflict)
    #expect(kind { try vault.revert(ItemName(service: "none"), to: 1) } == .notFound)
    #expect(try vault.log().suffix(1).map(\.event) == [.itemSet])
  }

  @Test func `what was deleted and kept is listed and comes back, and goes on counting`() throws {
    let vault = try written(3, keeping: 2)
    let before = Date()
    #expect(try vault.remove(name, keptUntil: .distantFuture))
    #expect(try vault.get(name) == nil && vault.list().isEmpty && vault.status().items == 0)
    let gone = try #require(try vault.deleted().first)
    #expect(
      gone.item.name == name && gone.item.revision == 3 && gone.until == nil
        && gone.item.modified >= before.addingTimeInterval(-1))
    #expect(try vault.deleted(service: "other").isEmpty)
    #expect(try vault.revisions(of: name).map(\.state) == [.deleted, .former, .former])
    #expect(try text(vault.get(name, revision: 3)) == "value 3")
    let back = try vault.undelete(name)
    #expect(back.revision == 4 && back.history == 2)
    #expect(text(try vault.get(name)) == "value 3")
    // Writes before the last: 3 is current, and 1 is one too many.
    #expect(try numbers(vault) == [4, 2] && vault.deleted().isEmpty)
    #expect(kind { try vault.undelete(name) } == .alreadyExists)
    #expect(kind { try vault.undelete(ItemName(service: "none")) } == .notFound)
    #expect(try vault.log().map(\.event).suffix(2) == [.itemDeleted, .undeleted])
    #expect(try vault.verify().records == 2)
  }

  @Test func `an item made anew under the name of a deleted one counts on above it, and both can be read`() throws {
    let vault = try written(3, keeping: 2)
    try vault.remove(name, keptUntil: .distantFuture)
    let again = try place.unlock()
    #expect(try again.set(form("anew"), for: name).revision == 4, "a process that finds it so")
    try vault.set(form("anew 2"), for: name, keeping: 1)
    #expect(try numbers(vault) == [5, 4, 3, 2, 1])
    #expect(try vault.deleted().isEmpty && kind { try vault.undelete(name) } == .alreadyExists)
    #expect(try text(vault.get(name, revision: 3)) == "value 3")
    try vault.remove(name, keptUntil: .distantFuture)
    #expect(try vault.undelete(name).revision == 6)
    #expect(text(try vault.get(name)) == "anew 2")
  }

  @Test func `what is removed without being kept is gone with all of its past`() throws {
    let vault = try written(4, keeping: 3)
    try vault.remove(name, keptUntil: .distantFuture)
    try vault.set(form("anew"), for: name, keeping: 2)
    try vault.set(form("anew again"), for: name)
    #expect(try old() > 3)
    try vault.remove(name)
    #expect(try old() == 0 && numbers(vault).isEmpty && vault.deleted().isEmpty)
    #expect(try vault.set(form("first"), for: name).revision == 1, "nothing is known of it any more")
  }

  @Test func `contents are pruned by age, by number, and all of an item`() throws {
    let clock = Mutable(Date(timeIntervalSince1970: 1_000_000))
    let vault = UnlockedVault(
      try OpenVault.create(
        at: .file(place.path), with: TemporaryVault.credentials(), cost: nil, label: "", clock: { clock.value }))
    let other = try ItemName(service: "other")
    for number in 1...5 {
      for name in [name, other] {
        try vault.set(form("value \(number)"), for: name, keeping: 10)
      }
      clock.value += 10
    }
    // Revision 2 was written at 10 and replaced at 20.
    #expect(try vault.prune(.olderThan(Date(timeIntervalSince1970: 1_000_020)), of: name) == 1)
    #expect(try vault.revisions(of: name).map(\.item.revision) == [5, 4, 3, 2])
    #expect(try vault.prune(.olderThan(Date(timeIntervalSince1970: 1_000_021)), of: name) == 1)
    #expect(try vault.prune(.allBut(1)) == 4, "of both items")
    #expect(try vault.revisions(of: name).map(\.item.revision) == [5, 4])
    #expect(try vault.prune(.allBut(0), of: name) == 1 && vault.prune(.allBut(0), of: name) == 0)
    #expect(try vault.revisions(of: other).count == 2)
    try vault.remove(other, keptUntil: .distantFuture)
    // Deleted at 50, whenever it was written; the date of the previous replacement is lost.
    #expect(try vault.prune(.olderThan(Date(timeIntervalSince1970: 1_000_050))) == 0)
    #expect(try vault.deleted().count == 1)
    #expect(try vault.prune(.olderThan(Date(timeIntervalSince1970: 1_000_051))) == 2)
    #expect(try vault.deleted().isEmpty && old() == 0)
    #expect(try vault.log().count { $0.event == .pruned } == 5, "a prune that finds nothing commits nothing")
  }

  @Test func `a rename takes the former contents along, and what the new name had is gone for good`() throws {
    let vault = try written(4, keeping: 3)
    let new = try ItemName(service: "svc", account: "b")
    try vault.set(form("was there"), for: new, keeping: 5)
    try vault.set(form("was there too"), for: new)
    try vault.set(form("its field"), for: new.field(named: "f"), keeping: 2)
    try vault.set(form("its field later"), for: new.field(named: "f"))
    let moved = try vault.apply([.move(name, to: new, if: .always)])
    #expect(moved.map(\.name) == [new] && moved[0].revision == 6 && moved[0].history == 3)
    #expect(try vault.revisions(of: new).map(\.item.revision) == [6, 5, 4, 3])
    #expect(try (3...6).map { try text(vault.get(new, revision: $0)) } == ["value 1", "value 2", "value 3", "value 4"])
    #expect(try vault.get(new, revision: 2) == nil && vault.get(new, revision: 1) == nil)
    #expect(try vault.revisions(of: new.field(named: "f")).isEmpty)
    #expect(try numbers(vault).isEmpty && vault.item(name) == nil)
    try vault.apply([.move(new, to: name)])
    #expect(try numbers(vault) == [4, 3, 2, 1] && text(vault.get(name)) == "value 4")
    #expect(try vault.verify().records == 4 + Int(old()) - 3)
  }

  @Test func `what is deleted while the clock is far behind can be brought back once it is right`() throws {
    let clock = Mutable(Date(timeIntervalSince1970: 1_700_000_000))
    let place = try TemporaryVault()
    let vault = UnlockedVault(
      try OpenVault.create(
        at: .file(place.path), with: TemporaryVault.credentials(), cost: nil, label: "", clock: { clock.value }))
    let month = 30.0 * 86_400
    for account in ["a", "b"] { try vault.set(form(account), for: ItemName(service: "svc", account: account)) }
    clock.value = Date(timeIntervalSince1970: 1_000_000)
    for account in ["a", "b"] {
      #expect(try vault.remove(ItemName(service: "svc", account: account), keptUntil: clock.value + month))
    }
    clock.value = Date(timeIntervalSince1970: 1_700_000_100)
    try vault.set(form("c"), for: ItemName(service: "svc", account: "c"))
    #expect(try vault.deleted().map(\.item.name.account) == ["a", "b"])
    for account in ["a", "b"] { try vault.undelete(ItemName(service: "svc", account: account)) }
    // A clock slightly behind still gives the date.
    clock.value -= 3600
    #expect(try vault.remove(ItemName(service: "svc", account: "a"), keptUntil: clock.value + month))
    clock.value += month + 7200
    #expect(try vault.deleted().isEmpty)
  }

  @Test func `rotation, repair, backup and another process keep the past`() throws {
    let vault = try written(4, keeping: 3)
    try vault.set(form("other"), for: .sample)
    try vault.remove(.sample, keptUntil: .distantFuture)
    try vault.rotate()
    func check(_ vault: borrowing UnlockedVault) throws {
      #expect(try numbers(vault) == [4, 3, 2, 1] && text(vault.get(name, revision: 2)) == "value 2")
      #expect(try vault.deleted().map(\.item.name) == [.sample] && vault.verify().records == 5)
      #expect(try vault.verify().items == 1 && vault.status().items == 1)
    }
    try check(vault)
    // The log names a deleted item by its index.
    let sample = try vault.core.run { (vault) throws(StoreError) in vault.items.index(of: .sample).description }
    #expect(try vault.log().last { $0.event == .itemDeleted }?.index == sample)
    let backup = place.folder.appending("backup")
    _ = try LockedVault.open(place.path).backup(to: backup)
    _ = try vault.lock()
    try place.attack("DELETE FROM state; DELETE FROM digest")
    let report = try LockedVault.open(place.path).repair(with: TemporaryVault.credentials())
    #expect(report.rebuiltState && report.items == 1 && report.droppedRecords == 0)
    try check(place.unlock())
    _ = try RestorableBackup(backup, toRestoreAt: place.path).restore(with: TemporaryVault.credentials())
    try check(place.unlock())
    let export = place.folder.appending("export")
    #expect(try place.unlock().export(to: export, with: TemporaryVault.credentials()) == 1)
    let exported = try LockedVault.open(export).unlock(with: TemporaryVault.credentials())
    #expect(try exported.verify().records == 1 && numbers(exported) == [1], "a new vault has no past of another")
  }

  @Test func `of several contents of the past only those whose rows open survive a repair`() throws {
    let vault = try written(4, keeping: 3)
    _ = try vault.lock()
    try place.attack("UPDATE old SET meta = zeroblob(length(meta)) WHERE idx = (SELECT min(idx) FROM old); DELETE FROM state")
    let report = try LockedVault.open(place.path).repair(with: TemporaryVault.credentials())
    #expect(report.droppedRecords == 1 && report.items == 1)
    let again = try place.unlock()
    #expect(try numbers(again).count == 3 && again.verify().records == 3)
    // A missing content counts as pruned.
    for number in 5...9 { try again.set(form("value \(number)"), for: name) }
    #expect(try numbers(again) == [9, 8, 7, 6])
  }

  @Test func `more and other rows of the past than Coffer leaves are read, counted above, and pruned`() throws {
    let vault = try written(2, keeping: 1)
    _ = try vault.lock()
    let open = try OpenVault.unlock(.file(place.path), with: TemporaryVault.credentials())
    let name = name
    for (kind, revision) in [(RecordKind.former, 7), (.deleted, 90), (.deleted, 40), (.former, FileCounter.most - 1)]
      as [(RecordKind, UInt64)]
    {
      var meta = RecordMeta(
        revision: revision, service: "gone", account: "", created: 1, modified: 1, history: 100)
      meta.make(kind)
      let planted = meta
      try open.write { (_, change) throws(StoreError) in try open.plant(planted, [1], &change) }
    }
    open.view.database.close()
    let again = try place.unlock()
    let gone = try ItemName(service: "gone")
    #expect(try again.revisions(of: gone).map(\.item.revision) == [FileCounter.most - 1, 90, 40, 7])
    #expect(try again.verify().records == 6)
    #expect(try again.undelete(gone).revision == FileCounter.most)
    #expect(kind { try again.set(form("x"), for: gone) } == .damaged, "no number follows")
    #expect(try again.remove(gone) && numbers(again, gone).isEmpty)
    #expect(try numbers(again, name) == [2, 1])
  }
}

/// A value that a closure may read on several threads.
final class Mutable<Value>: @unchecked Sendable {
  var value: Value
  init(_ value: Value) { self.value = value }
}
