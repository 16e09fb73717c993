import CofferPlatform
import CofferStorage
import CofferTestSupport
import Foundation
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

/// Which items of two vaults a merge takes for one, also after a deletion.
@Suite final class MergeIdentityTests: MergingTests {
  /// Two vaults that each made `ada`, the second a second later.
  private func strangers(_ ours: String, _ theirs: String) throws -> MergedPair {
    let pair = try home.pair(home.create())
    try pair.here.set(form(ours), for: ada, keeping: 5)
    home.tick()
    try pair.there.set(form(theirs), for: ada, keeping: 5)
    home.tick()
    return pair
  }

  @Test(arguments: [false, true])
  func `what both made with one content is one item for either, and its deletion holds`(isMergedThere: Bool) throws {
    let pair = try strangers("pw", "pw")
    let report = try pair.mergeHere()
    #expect(report.same == 1 && report.aligned == 1 && !report.isEmpty)
    #expect(try pair.here.item(ada)?.id == pair.there.item(ada)?.id)
    #expect(try pair.here.item(ada)?.written == pair.there.item(ada)?.written)
    #expect(try pair.here.values(ada) == ["pw"] && pair.mergeHere().isEmpty)
    if isMergedThere { #expect(try pair.mergeThere().isEmpty) }
    try pair.here.remove(ada, keptUntil: .distantFuture)
    #expect(try pair.mergeHere().kept == [ada] && pair.here.list().isEmpty)
    #expect(try pair.mergeThere().deleted == [ada])
    try pair.expectSettled()
  }

  @Test func `what both made with one content keeps its id under another name`() throws {
    let pair = try strangers("pw", "pw")
    // In either order: there it is the later one already.
    #expect(try pair.mergeThere().isEmpty)
    _ = try pair.mergeHere()
    try pair.here.apply([.move(ada, to: bob)])
    try pair.expectSettled()
    #expect(try pair.here.list().map(\.name) == [bob] && pair.there.list().map(\.name) == [bob])
  }

  @Test func `an item that lost a conflict does not come back once the winner is deleted`() throws {
    let pair = try strangers("first", "theirs")
    try pair.here.set(form("ours"), for: ada)
    #expect(try pair.mergeHere().conflicts.map(\.winner) == [.this])
    home.tick()
    try pair.here.remove(ada, keptUntil: .distantFuture)
    // There it still has its own id.
    #expect(try pair.mergeHere().kept == [ada] && pair.here.list().isEmpty)
    #expect(try pair.mergeThere().deleted == [ada])
    try pair.expectSettled()
  }

  @Test func `an item that whoever deleted another one of its name never had comes`() throws {
    let pair = try strangers("ours", "theirs")
    try pair.here.remove(ada, keptUntil: .distantFuture)
    home.tick()
    #expect(try pair.mergeHere().added == [ada] && text(pair.here.get(ada)) == "theirs")
    try pair.expectSettled()
  }

  @Test func `an item with a field that whoever deleted one of its name never had comes`() throws {
    let pair = try strangers("pw", "pw")
    try pair.there.set(form("pin"), for: ada.field(named: "pin"))
    home.tick()
    try pair.here.remove(ada, keptUntil: .distantFuture)
    #expect(try pair.mergeHere().added == [ada] && pair.here.fields(of: ada).count == 1)
    try pair.expectSettled()
  }

  @Test func `what comes to the name of a deleted item that both had is not taken for it, though their content is one`() throws {
    let here = try home.create()
    let pins = try [ada, bob].map { try $0.field(named: "pin") }
    let cat = ItemName(sealed: "svc", "cat")
    for name in [ada, bob, cat] + pins { try here.set(form("same"), for: name) }
    let pair = try home.pair(here)
    home.tick()
    try pair.here.remove(ada, keptUntil: .distantFuture)
    try pair.there.remove(ada, keptUntil: .distantFuture)
    home.tick()
    // The field's item takes the deleted name, and the field moves to another item: here it stays.
    try pair.there.apply([.move(bob, to: ada)])
    try pair.there.apply([.move(pins[0], to: cat.field(named: "pin"))])
    _ = try pair.mergeHere()
    #expect(try pair.here.fields(of: ada).map(\.name) == [pins[0]])
    #expect(try pair.mergeThere().added == [pins[0]])
    #expect(try pair.here.contents() == pair.there.contents())
    try pair.expectSettled()
  }

  @Test func `after a merge of one content whoever goes on from it wins against who did not`() throws {
    let pair = try strangers("pw", "pw")
    _ = try pair.mergeHere()
    _ = try pair.mergeThere()
    // By a clock that is behind.
    home.now -= 3600
    try pair.here.apply([.describe(ada, as: ItemMetadata(label: "Mine"))])
    let report = try pair.mergeHere()
    #expect(report.kept == [ada] && report.conflicts.isEmpty && report.isEmpty)
    #expect(try pair.mergeThere().updated == [ada] && pair.there.item(ada)?.metadata.label == "Mine")
    try pair.expectSettled()
  }

  @Test func `two that each know the other's content are in no conflict, and the newer value stays`() throws {
    let here = try home.create()
    try here.set(form("old"), for: ada, keeping: 5)
    let pair = try home.pair(here)
    let first = home.now
    home.tick()
    try pair.there.set(form("new"), for: ada)
    #expect(try pair.mergeHere().updated == [ada])
    // As from a backup, with its own times.
    _ = try pair.here.add(
      [ImportedItem(name: ada, form: form("old"), created: first, modified: first)], duplicates: .replace)
    let report = try pair.mergeHere()
    #expect(try report.updated == [ada] && report.conflicts.isEmpty && text(pair.here.get(ada)) == "new")
    try pair.expectSettled()
  }

  @Test func `an item that was deleted as another one's former content is not deleted with a content that came later`() throws {
    let pair = try strangers("first", "theirs")
    try pair.here.set(form("ours"), for: ada)
    _ = try pair.mergeHere()
    try pair.here.remove(ada, keptUntil: .distantFuture)
    home.tick()
    try pair.there.apply([.describe(ada, as: ItemMetadata(label: "Mine"))])
    #expect(try pair.mergeHere().added == [ada] && pair.here.item(ada)?.metadata.label == "Mine")
    try pair.expectSettled()
  }

  @Test func `a value from the future stays deleted where it was known, until it is changed or brought back`() throws {
    let here = try home.create()
    try here.set(form("old"), for: ada, keeping: 5)
    let pair = try home.pair(here)
    let pin = try ada.field(named: "pin")
    home.now += 365 * 86400
    try pair.there.set(form("from the future"), for: ada)
    try pair.there.set(form("pin"), for: pin)
    home.now -= 365 * 86400 - 10
    #expect(try pair.mergeHere().updated == [ada])
    try pair.here.remove(ada, keptUntil: .distantFuture)
    #expect(try pair.mergeHere().kept == [ada] && pair.here.list().isEmpty)
    #expect(try pair.mergeThere().deleted == [ada])
    try pair.expectSettled()
    home.tick()
    try pair.there.undelete(ada)
    #expect(try pair.mergeHere().added == [ada])
    try pair.here.remove(ada, keptUntil: .distantFuture)
    home.tick()
    try pair.there.set(form("changed"), for: pin)
    #expect(try pair.mergeHere().added == [ada])
    try pair.expectSettled()
  }

  @Test func `two deletions of one item, restored together, are two items`() throws {
    let here = try home.create()
    try here.set(form("v"), for: ada)
    let pair = try home.pair(here)
    try pair.here.remove(ada, keptUntil: .distantFuture)
    home.tick()
    let other = try ItemName(service: "other")
    try pair.there.apply([.move(ada, to: other)])
    try pair.there.set(form("w"), for: other)
    _ = try pair.mergeHere()
    #expect(try pair.here.remove(other, keptUntil: .distantFuture))
    let back = try pair.here.apply([.undelete(ada), .undelete(other)])
    #expect(back.map(\.name) == [ada, other] && Set(back.map(\.id)).count == 2)
  }

  @Test func `a trial tells of a conflict that this vault wins as of a change`() throws {
    let pair = try strangers("first", "theirs")
    try pair.here.set(form("ours"), for: ada)
    let trial = try pair.here.merge(pair.there, isTrial: true)
    #expect(trial.conflicts.map(\.winner) == [.this] && !trial.isEmpty)
    #expect(try !pair.mergeHere().isEmpty && pair.mergeHere().isEmpty)
  }

  @Test func `a deletion of what became a part of another item comes with the first merge`() throws {
    let here = try home.create()
    try here.set(form("v"), for: ada, keeping: 5)
    let pair = try home.pair(here)
    let (cat, eve) = (ItemName(sealed: "svc", "cat"), ItemName(sealed: "svc", "eve"))
    home.tick()
    try pair.here.remove(ada, keptUntil: .distantFuture)
    home.tick()
    // Changed since: there it stays, and is the older one of two of its new name.
    try pair.there.set(form("w"), for: ada)
    try pair.there.apply([.move(ada, to: eve)])
    home.tick()
    try pair.here.set(form("x"), for: eve, keeping: 5)
    try pair.expectSettled()
    #expect(try pair.there.values(eve) == ["x", "w", "v"] && pair.there.deleted().map(\.item.name) == [ada])
    try pair.here.apply([.move(eve, to: cat)])
    try pair.expectSettled()
  }

  @Test(arguments: [false, true])
  func `a deletion is carried by a vault with an item of that name, whether it had the deleted one or not`(isNew: Bool) throws {
    let here = try home.create()
    try here.set(form("v"), for: ada)
    let pair = try home.pair(here)
    let place = try TemporaryVault()
    let other = try home.create(at: place)
    if !isNew { _ = try other.merge(pair.here) }
    home.tick()
    try pair.here.remove(ada, keptUntil: .distantFuture)
    home.tick()
    try pair.here.set(form("new"), for: ada)
    try pair.there.apply([.move(ada, to: bob)])
    _ = try other.merge(pair.here)
    #expect(try pair.there.merge(other).deleted == [bob])
    #expect(try text(other.get(ada)) == "new" && text(pair.there.get(ada)) == "new")
    _ = try other.merge(pair.there)
    #expect(try other.merge(pair.there).isEmpty && pair.there.merge(other).isEmpty)
  }

  @Test func `what a deletion by a clock ahead beat stays deleted where the deletion is carried`() throws {
    let here = try home.create()
    try here.set(form("v"), for: ada)
    let pair = try home.pair(here)
    let place = try TemporaryVault()
    let other = try home.create(at: place)
    _ = try other.merge(pair.here)
    home.now += 1000
    try pair.there.set(form("edit"), for: ada)
    home.now += 1
    try pair.here.remove(ada, keptUntil: .distantFuture)
    home.now += 1
    try pair.here.set(form("new"), for: ada)
    home.now -= 1000
    #expect(try pair.mergeHere().kept == [ada] && pair.here.values(ada) == ["new", "edit", "v"])
    _ = try other.merge(pair.here)
    #expect(try pair.there.merge(other).deleted == [ada])
    #expect(try pair.there.list().map(\.name) == [ada] && text(pair.there.get(ada)) == "new")
  }
}
