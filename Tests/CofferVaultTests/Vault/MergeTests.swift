import CofferMemory
import CofferPlatform
import CofferStorage
import CofferTestSupport
import Foundation
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

@Suite final class MergeTests: MergingTests {
  /// Two vaults with `ada` of value `old`, keeping five previous contents.
  private func twins(_ prepare: (borrowing UnlockedVault) throws -> Void = { _ in }) throws -> MergedPair {
    let here = try home.create()
    try here.set(form("old"), for: ada, keeping: 5)
    try prepare(here)
    return try home.pair(here)
  }

  @Test func `what is new there comes with its fields, its past and its id`() throws {
    let pair = try home.pair(home.create())
    home.tick()
    try pair.there.set(form("one"), for: ada, keeping: 3)
    try pair.there.set(form("two", ItemMetadata(label: "Ada", attributes: ["k": "v"])), for: ada)
    try pair.there.set(form("pin"), for: ada.field(named: "pin"))
    let report = try pair.mergeHere()
    #expect(report.added == [ada] && report.conflicts.isEmpty && report.leftOut.isEmpty)
    #expect(try pair.here.values(ada) == ["two", "one"] && pair.here.values(ada.field(named: "pin")) == ["pin"])
    let (mine, other) = try (pair.here.item(ada), pair.there.item(ada))
    #expect(mine?.id == other?.id && mine?.metadata == other?.metadata && mine?.written == other?.written)
    try pair.expectSettled()
  }

  @Test func `a newer content of whoever knew this one takes its place without a conflict`() throws {
    let pair = try twins()
    home.tick()
    try pair.there.set(form("new", ItemMetadata(label: "x", expires: .distantFuture)), for: ada)
    let report = try pair.mergeHere()
    #expect(report.updated == [ada] && report.conflicts.isEmpty)
    #expect(try pair.here.values(ada) == ["new", "old"])
    #expect(try pair.here.revisions(of: ada).map(\.item.revision) == [2, 1])
    #expect(try pair.here.item(ada)?.metadata == pair.there.item(ada)?.metadata)
    try pair.expectSettled()
  }

  @Test func `of two changes the newer value stays, the other is kept, and the conflict is told`() throws {
    let pair = try twins()
    home.tick()
    try pair.there.set(form("theirs"), for: ada)
    home.tick()
    try pair.here.set(form("ours"), for: ada)
    let report = try pair.mergeHere()
    let conflict = try #require(report.conflicts.first)
    #expect(conflict.name == ada && conflict.winner == .this && report.updated.isEmpty)
    #expect(try text(pair.here.get(ada, revision: conflict.kept ?? 0)) == "theirs")
    #expect(try pair.here.values(ada) == ["ours", "theirs", "old"])
    let back = try pair.mergeThere()
    #expect(back.updated == [ada] && back.conflicts.isEmpty)
    #expect(try pair.there.values(ada) == ["ours", "theirs", "old"])
    try pair.expectSettled()
  }

  @Test func `a label that was written later does not bring an older value back`() throws {
    let pair = try twins()
    home.tick()
    try pair.there.set(form("new password"), for: ada)
    home.tick()
    try pair.here.apply([.describe(ada, as: ItemMetadata(label: "later"))])
    #expect(try pair.mergeHere().conflicts.map(\.winner) == [.other])
    #expect(try pair.here.values(ada).first == "new password")
    try pair.expectSettled()
  }

  @Test func `who went back to a former value knowing the other's keeps it`() throws {
    let pair = try twins { try $0.set(form("newer"), for: ada) }
    home.tick()
    try pair.here.revert(ada, to: 1)
    #expect(try pair.mergeHere().kept == [ada])
    #expect(try pair.mergeThere().updated == [ada])
    #expect(try text(pair.there.get(ada)) == "old")
    try pair.expectSettled()
  }

  @Test func `a clock that was ahead wins once, and not against who has seen its value`() throws {
    let pair = try twins()
    home.now += 365 * 86400
    try pair.there.set(form("from the future"), for: ada)
    home.now -= 365 * 86400 - 10
    #expect(try pair.mergeHere().updated == [ada])
    try pair.here.set(form("after it"), for: ada)
    #expect(try pair.mergeThere().updated == [ada])
    #expect(try text(pair.there.get(ada)) == "after it")
    try pair.expectSettled()
  }

  @Test(arguments: [("a", "b"), ("b", "a"), ("same", "same")])
  func `values of one moment come to the same whoever merges first`(ours: String, theirs: String) throws {
    let pair = try twins()
    home.tick()
    try pair.here.set(form(ours), for: ada)
    try pair.there.set(form(theirs), for: ada)
    let report = try pair.mergeHere()
    #expect(try text(pair.here.get(ada)) == max(ours, theirs))
    #expect(report.conflicts.count == (ours == theirs ? 0 : 1) && report.same == (ours == theirs ? 1 : 0))
    try pair.expectSettled()
    #expect(try text(pair.there.get(ada)) == max(ours, theirs))
  }

  @Test func `a rename is followed by what was changed under the former name`() throws {
    let pair = try twins { try $0.set(form("pin"), for: ada.field(named: "pin")) }
    home.tick()
    try pair.there.apply([.move(ada, to: bob)])
    home.tick()
    try pair.here.set(form("changed"), for: ada)
    let report = try pair.mergeHere()
    #expect(report.renamed == [MergeReport.Renamed(from: ada, to: bob)] && report.added.isEmpty)
    #expect(try pair.here.get(ada) == nil && pair.here.values(bob) == ["changed", "old"])
    #expect(try pair.here.values(bob.field(named: "pin")) == ["pin"])
    #expect(try pair.mergeThere().updated == [bob])
    #expect(try pair.there.values(bob) == ["changed", "old"])
    try pair.expectSettled()
  }

  @Test func `of two renames the later one holds, of an item and of a field`() throws {
    let pin = try ada.field(named: "pin")
    let pair = try twins { try $0.set(form("pin"), for: pin) }
    home.tick()
    try pair.here.apply([.move(pin, to: ada.field(named: "later"))])
    try pair.there.apply([.move(ada, to: bob)])
    home.tick()
    try pair.there.apply([.move(bob.field(named: "pin"), to: bob.field(named: "latest"))])
    try pair.here.apply([.move(ada, to: ItemName(service: "svc", account: "eve"))])
    let eve = ItemName(sealed: "svc", "eve")
    let report = try pair.mergeHere()
    #expect(try pair.here.list().map(\.name) == [eve] && pair.here.fields(of: eve).map(\.name.field) == ["latest"])
    #expect(report.renamed.map(\.to) == [try eve.field(named: "latest")])
    try pair.expectSettled()
    #expect(try pair.there.list().map(\.name) == [eve])
  }

  @Test func `items that changed places there change places here`() throws {
    let pair = try twins { try $0.set(form("bob"), for: bob, keeping: 2) }
    let other = ItemName(sealed: "svc", "other")
    for (from, to) in [(ada, other), (bob, ada), (other, bob)] {
      home.tick()
      try pair.there.apply([.move(from, to: to)])
    }
    #expect(try pair.mergeHere().renamed.count == 2)
    #expect(try text(pair.here.get(ada)) == "bob" && text(pair.here.get(bob)) == "old")
    try pair.expectSettled()
  }

  @Test func `the time of a name is nobody's attribute, and outlives what else is said`() throws {
    let pair = try twins()
    home.tick()
    try pair.here.apply([.move(ada, to: bob)])
    #expect(try pair.here.item(bob)?.metadata.attributes == [:])
    for change in [
      ItemChange.set(try form("x", ItemMetadata(attributes: ["a": "b"])), for: bob), .describe(bob, as: ItemMetadata(label: "l")),
    ] {
      home.tick()
      try pair.here.apply([change])
    }
    #expect(try pair.here.get(bob)?.metadata == ItemMetadata(label: "l"))
    // A caller may give sixty-four.
    let full = Dictionary(uniqueKeysWithValues: (0..<64).map { ("k\($0)", "v") })
    try pair.here.apply([.describe(bob, as: ItemMetadata(attributes: full))])
    #expect(try pair.here.get(bob)?.metadata.attributes == full)
    #expect(try pair.here.verify().items == 1)
  }

  @Test func `what was deleted there goes, and can be brought back for good`() throws {
    let pair = try twins { try $0.set(form("pin"), for: ada.field(named: "pin")) }
    home.tick()
    try pair.there.remove(ada, keptUntil: .distantFuture)
    home.tick()
    let report = try pair.mergeHere(keptUntil: home.now.addingTimeInterval(86400))
    #expect(try report.deleted == [ada] && pair.here.list().isEmpty && pair.here.deleted().map(\.item.name) == [ada])
    try pair.expectSettled()
    home.tick()
    try pair.here.undelete(ada)
    #expect(try pair.mergeThere().added == [ada] && pair.there.fields(of: ada).count == 1)
    try pair.expectSettled()
  }

  @Test func `what a merge brought back under another name is not brought back a second time as the same item`() throws {
    let pair = try twins { try $0.set(form("4711"), for: ada.field(named: "pin")) }
    try pair.here.remove(ada, keptUntil: .distantFuture)
    home.tick()
    let eve = ItemName(sealed: ada.service, "eve")
    try pair.there.apply([.move(ada, to: eve)])
    try pair.there.set(form("changed"), for: eve)
    _ = try pair.mergeHere()
    #expect(try pair.here.list().map(\.name) == [eve])
    try pair.here.undelete(ada)
    let items = try pair.here.list() + pair.here.fields(of: ada) + pair.here.fields(of: eve)
    #expect(items.count == 4 && Set(items.map(\.id)).count == 4)
    #expect(try text(pair.here.get(ada)) == "old" && text(pair.here.get(eve)) == "changed")
    _ = try pair.mergeThere()
    try pair.expectSettled()
  }

  @Test func `nothing is kept of what was deleted there where nothing shall be`() throws {
    let pair = try twins()
    home.tick()
    try pair.there.remove(ada, keptUntil: .distantFuture)
    #expect(try pair.mergeHere(keptUntil: nil).deleted == [ada])
    #expect(try pair.here.deleted().isEmpty && pair.here.revisions(of: ada).isEmpty)
  }

  @Test(arguments: ["value", "label", "field"]) func `what was changed after it was deleted there stays`(change: String) throws {
    let pin = try ada.field(named: "pin")
    let pair = try twins { try $0.set(form("pin"), for: pin) }
    home.tick()
    try pair.there.remove(ada, keptUntil: .distantFuture)
    home.tick()
    switch change {
    case "value": try pair.here.set(form("new"), for: ada)
    case "label": try pair.here.apply([.describe(ada, as: ItemMetadata(label: "new"))])
    default: try pair.here.set(form("new"), for: pin)
    }
    #expect(try pair.mergeHere().isEmpty)
    #expect(try pair.mergeThere().added == [ada])
    #expect(try pair.there.fields(of: ada).map(\.name) == [pin])
    try pair.expectSettled()
  }

  @Test func `a field is judged by itself`() throws {
    let (pin, puk) = (try ada.field(named: "pin"), try ada.field(named: "puk"))
    let pair = try twins { vault in
      for name in [pin, puk] { try vault.set(form("old"), for: name, keeping: 2) }
    }
    home.tick()
    try pair.there.set(form("new"), for: pin)
    try pair.there.remove(puk, keptUntil: .distantFuture)
    try pair.there.set(form("more"), for: ada.field(named: "more"))
    home.tick()
    try pair.here.set(form("password"), for: ada)
    let report = try pair.mergeHere()
    #expect(try report.updated == [pin] && report.deleted == [puk] && report.added == [ada.field(named: "more")])
    #expect(report.kept == [ada])
    #expect(try pair.here.values(pin) == ["new", "old"] && pair.here.values(ada) == ["password", "old"])
    try pair.expectSettled()
  }

  @Test func `two items that were made under one name are one`() throws {
    let pair = try home.pair(home.create())
    try pair.here.set(form("ours"), for: ada)
    try pair.here.set(form("pin"), for: ada.field(named: "pin"))
    home.tick()
    try pair.there.set(form("theirs"), for: ada)
    try pair.there.set(form("puk"), for: ada.field(named: "puk"))
    #expect(try pair.mergeHere(keeping: 10).conflicts == [MergeReport.Conflict(name: ada, winner: .other, kept: 1)])
    #expect(try pair.here.values(ada) == ["theirs", "ours"] && pair.here.fields(of: ada).count == 2)
    #expect(try pair.here.item(ada)?.id == pair.there.item(ada)?.id)
    try pair.expectSettled()
  }

  @Test func `two items of both that come to one name get two`() throws {
    let pair = try twins { try $0.set(form("bob"), for: bob) }
    let name = ItemName(sealed: "svc", "x")
    home.tick()
    try pair.here.apply([.move(ada, to: name)])
    home.tick()
    try pair.there.apply([.move(bob, to: name)])
    _ = try pair.mergeHere()
    #expect(try text(pair.here.get(name)) == "bob" && text(pair.here.get(ItemName(sealed: "svc", "x (2)"))) == "old")
    try pair.expectSettled()
    #expect(try text(pair.there.get(ItemName(sealed: "svc", "x (2)"))) == "old")
  }

  @Test func `logins take no part, and nothing of them is kept`() throws {
    let pair = try twins()
    let login = ItemMetadata(attributes: [ItemMetadata.endsWithSession: "true"])
    try pair.there.set(form("token", login), for: bob)
    home.tick()
    try pair.there.set(form("now a token", login), for: ada)
    let report = try pair.mergeHere(keeping: 10)
    #expect(report.leftOut.map(\.reason) == [.login, .login] && report.isEmpty)
    #expect(try pair.here.values(ada) == ["old"] && pair.here.get(bob) == nil)
    try pair.there.set(form("x"), for: ItemName(service: "caller"))
    #expect(try pair.here.merge(pair.there, leavingOut: { $0.name.service == "caller" }).leftOut.count == 3)
  }

  @Test func `a field beyond the last that an item may have is left out by name`() throws {
    let pair = try twins()
    for number in 0..<40 {
      try pair.here.set(form("x"), for: ada.field(named: "a\(number)"))
      try pair.there.set(form("x"), for: ada.field(named: "b\(number)"))
    }
    let report = try pair.mergeHere()
    #expect(report.added.count == 24 && report.leftOut.map(\.reason) == Array(repeating: .noRoom, count: 16))
    #expect(try pair.here.verify().records == 65)
  }

  @Test func `as many former contents are kept as are asked for, of both sides the newest`() throws {
    let pair = try twins()
    for number in 1...4 {
      for vault in 1...2 {
        home.tick()
        let value = try form("\(vault == 1 ? "here" : "there") \(number)")
        if vault == 1 { try pair.here.set(value, for: ada) } else { try pair.there.set(value, for: ada) }
      }
    }
    _ = try pair.mergeHere()
    #expect(try pair.here.values(ada) == ["there 4", "here 4", "there 3", "here 3", "there 2", "here 2"])
    try pair.here.set(form("on"), for: ada)
    #expect(try pair.here.values(ada) == ["on", "there 4", "here 4", "there 3", "here 3", "there 2"])
    try pair.expectSettled()
  }

  @Test func `no former content but the loser is kept where none shall be`() throws {
    let pair = try twins { try $0.set(form("bob"), for: bob, keeping: 5) }
    try pair.here.set(form("here"), for: ada)
    home.tick()
    for name in [ada, bob] { try pair.there.set(form("there"), for: name) }
    #expect(try pair.mergeHere(keeping: 0).conflicts.map(\.kept) == [2])
    #expect(try pair.here.values(ada) == ["there", "here"] && pair.here.values(bob) == ["there"])
  }

  @Test func `an older copy of the vault brings back only what left no trace`() throws {
    let pair = try twins { try $0.set(form("bob"), for: bob) }
    home.tick()
    try pair.here.set(form("new"), for: ada)
    try pair.here.remove(bob, keptUntil: .distantFuture)
    #expect(try pair.mergeHere().isEmpty)
    try pair.here.prune(.allBut(0), of: bob)
    #expect(try pair.mergeHere().added == [bob])
  }

  @Test func `a damaged item of the other vault is told, and nothing changes`() throws {
    let pair = try twins()
    home.tick()
    try pair.there.set(form("new"), for: bob)
    let generation = try pair.here.status().generation
    try home.there.attack("UPDATE rec SET value = \(changed("value", byte: 20))")
    let error = #expect(throws: StoreError.self) { try pair.here.merge(pair.there) }
    #expect(error?.kind == .tampered && error?.place == home.there.path.string)
    #expect(try pair.here.status().generation == generation && pair.here.list().map(\.name) == [ada])
  }

  @Test func `a trial changes neither vault and tells the same`() throws {
    let pair = try twins()
    home.tick()
    try pair.there.set(form("new"), for: ada)
    try pair.there.set(form("bob"), for: bob)
    let generations = try (pair.here.status().generation, pair.there.status().generation)
    let trial = try pair.here.merge(pair.there, isTrial: true)
    #expect(try (pair.here.status().generation, pair.there.status().generation) == generations)
    #expect(try trial == pair.mergeHere())
    #expect(try pair.here.status().generation == generations.0 + 1)
  }

  @Test func `two threads that merge two vaults into each other both come to an end`() throws {
    let pair = try twins()
    DispatchQueue.concurrentPerform(iterations: 8) { turn in
      do { _ = try turn % 2 == 0 ? pair.mergeHere() : pair.mergeThere() } catch { Issue.record(error) }
    }
    try pair.expectSettled()
  }
}
