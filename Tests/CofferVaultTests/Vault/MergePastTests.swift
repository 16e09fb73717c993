import CofferPlatform
import CofferStorage
import CofferTestSupport
import Foundation
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

/// No value that one of three machines wrote is lost once each has merged what the one before it had.
@Suite final class MergePastTests: MergingTests {
  private let year: Double = 365 * 86400

  /// Three copies of a vault with `ada` of value `a0`, and `bob` and `eve` of theirs.
  private final class Trio: Sendable {
    let a: UnlockedVault, b: UnlockedVault, c: UnlockedVault

    init(_ a: consuming UnlockedVault, _ b: consuming UnlockedVault, _ c: consuming UnlockedVault) {
      self.a = a
      self.b = b
      self.c = c
    }
  }

  private let places: [TemporaryVault]

  override init() throws {
    places = try [TemporaryVault(), TemporaryVault()]
    try super.init()
  }

  private func trio(keeping: Int = 10, _ prepare: (borrowing UnlockedVault) throws -> Void = { _ in }) throws -> Trio {
    let a = try home.create()
    try a.set(form("a0"), for: ada, keeping: keeping)
    try prepare(a)
    let b = try home.create(at: places[0])
    let c = try home.create(at: places[1])
    _ = try (b.merge(a), c.merge(a))
    home.tick()
    return Trio(a, b, c)
  }

  private func ahead(_ seconds: Double, _ body: () throws -> Void) rethrows {
    home.now += seconds
    defer { home.now -= seconds }
    try body()
  }

  private func expectSettled(
    _ one: borrowing UnlockedVault, _ other: borrowing UnlockedVault, _ location: SourceLocation = #_sourceLocation
  ) throws {
    _ = try (one.merge(other), other.merge(one))
    #expect(try one.contents() == other.contents(), sourceLocation: location)
    #expect(try one.merge(other).isEmpty && other.merge(one).isEmpty, sourceLocation: location)
    _ = try (one.verify(), other.verify())
  }

  @Test func `a value that lost to a content known here is taken over with it`() throws {
    let trio = try trio()
    try trio.c.set(form("c1"), for: ada)
    try ahead(100) { try trio.b.set(form("b1"), for: ada) }
    _ = try trio.a.merge(trio.b)
    home.tick()
    try trio.a.set(form("a2"), for: ada)
    _ = try trio.b.merge(trio.c)
    let report = try trio.a.merge(trio.b)
    #expect(report.kept == [ada] && report.joined == [ada] && !report.isEmpty)
    #expect(try trio.a.values(ada).first == "a2" && Set(trio.a.values(ada)) == ["a2", "b1", "c1", "a0"])
    #expect(try trio.a.merge(trio.b).isEmpty)
    try expectSettled(trio.a, trio.b)
  }

  @Test func `the previous versions of one content in both are joined`() throws {
    let trio = try trio()
    try trio.a.set(form("mine"), for: ada)
    home.tick()
    try trio.b.set(form("other"), for: ada)
    home.tick()
    try trio.a.set(form("same"), for: ada)
    try trio.b.set(form("same"), for: ada)
    let report = try trio.a.merge(trio.b)
    #expect(report.same == 1 && report.joined == [ada])
    #expect(try trio.a.values(ada) == ["same", "other", "mine", "a0"])
    _ = try trio.b.merge(trio.a)
    #expect(try trio.b.values(ada) == ["same", "other", "mine", "a0"])
    try expectSettled(trio.a, trio.b)
  }

  @Test func `an undelete gives the value that was deleted elsewhere`() throws {
    let trio = try trio()
    try trio.b.set(form("b1"), for: ada)
    home.tick()
    try trio.b.remove(ada, keptUntil: .distantFuture)
    #expect(try trio.a.merge(trio.b).deleted == [ada])
    // Who carries a deletion has what it deleted too.
    _ = try trio.c.merge(trio.a)
    try expectSettled(trio.a, trio.c)
    for vault in 0..<2 {
      if vault == 0 { try trio.a.undelete(ada) } else { try trio.c.undelete(ada) }
      #expect(try vault == 0 ? trio.a.values(ada) == ["b1", "a0"] : trio.c.values(ada) == ["b1", "a0"])
    }
  }

  @Test func `a machine that never had an item takes over its deletion`() throws {
    let trio = try trio()
    try trio.b.set(form("new"), for: bob, keeping: 2)
    try trio.b.set(form("newer"), for: bob)
    home.tick()
    try trio.b.remove(bob, keptUntil: home.now.addingTimeInterval(100))
    let report = try trio.a.merge(trio.b)
    #expect(try report.joined == [bob] && report.deleted.isEmpty && trio.a.list().map(\.name) == [ada])
    let found = try trio.a.deleted()
    #expect(try found.map(\.item.name) == [bob] && found.map(\.until) == trio.b.deleted().map(\.until))
    try expectSettled(trio.a, trio.b)
    // Two machines do not keep each other's deleted items alive.
    home.now += 200
    #expect(try trio.a.deleted().isEmpty && trio.a.merge(trio.b).isEmpty)
  }

  @Test func `what left no trace comes back, and is named`() throws {
    let (bob, eve, dan) = (ItemName(sealed: "svc", "bob"), ItemName(sealed: "svc", "eve"), ItemName(sealed: "svc", "dan"))
    let trio = try trio { vault in
      for name in [bob, eve, dan] { try vault.set(form("\(name.account)0"), for: name, keeping: 10) }
      try vault.set(form("eve1"), for: eve)
    }
    try trio.a.remove(ada)
    try trio.a.apply([.move(bob, to: dan, if: .always)])
    try trio.a.prune(.allBut(0), of: eve)
    home.tick()
    let report = try trio.a.merge(trio.b)
    #expect(report.added == [ada, ItemName(sealed: "svc", "dan (2)")] && report.joined == [eve])
    #expect(try trio.a.values(eve) == ["eve1", "eve0"])
    try expectSettled(trio.a, trio.b)
  }

  @Test func `what is written after a deletion by a clock ahead was merged is not deleted by who merged it`() throws {
    let trio = try trio()
    try ahead(year) { try trio.b.remove(ada, keptUntil: .distantFuture) }
    home.tick()
    #expect(try trio.a.merge(trio.b).deleted == [ada])
    home.tick()
    try trio.c.set(form("c1"), for: ada)
    #expect(try trio.a.merge(trio.c).added == [ada])
    #expect(try trio.c.merge(trio.a).isEmpty)
    try trio.a.remove(ada, keptUntil: .distantFuture)
    home.tick()
    try trio.c.apply([.describe(ada, as: ItemMetadata(label: "later"))])
    #expect(try trio.a.merge(trio.c).added == [ada])
    try expectSettled(trio.a, trio.c)
  }

  @Test func `what is undeleted after a deletion by a clock ahead stays where the deletion was carried`() throws {
    let trio = try trio()
    try ahead(year) { try trio.b.remove(ada, keptUntil: .distantFuture) }
    _ = try (trio.a.merge(trio.b), trio.c.merge(trio.a))
    home.tick()
    try trio.c.undelete(ada)
    #expect(try trio.a.merge(trio.c).added == [ada] && trio.c.merge(trio.a).isEmpty)
    try expectSettled(trio.a, trio.c)
  }

  /// Documented: without a base, nothing tells that it was known.
  @Test func `a value by a clock ahead that no previous version shows wins again, and the loser is told`() throws {
    let trio = try trio()
    try ahead(year) { try trio.b.set(form("future"), for: ada) }
    _ = try trio.a.merge(trio.b)
    for number in 0..<11 {
      home.tick()
      try trio.a.set(form("n\(number)"), for: ada)
    }
    let conflict = try #require(trio.a.merge(trio.b).conflicts.first)
    #expect(try conflict.winner == .other && text(trio.a.get(ada, revision: conflict.kept ?? 0)) == "n10")
    try expectSettled(trio.a, trio.b)
  }

  @Test(arguments: [false, true]) func `an edit that a deletion beat is kept among the versions`(isThereFirst: Bool) throws {
    let trio = try trio()
    try trio.b.set(form("edit"), for: ada)
    home.tick()
    try trio.a.remove(ada, keptUntil: .distantFuture)
    if isThereFirst { #expect(try trio.b.merge(trio.a).deleted == [ada]) }
    let report = try trio.a.merge(trio.b)
    #expect(report.kept == (isThereFirst ? [] : [ada]) && report.joined == [ada] && !report.isEmpty)
    try expectSettled(trio.a, trio.b)
    #expect(try trio.a.list().isEmpty && trio.a.values(ada) == trio.b.values(ada))
    #expect(try Set(trio.a.values(ada)) == ["edit", "a0"])
    try trio.a.undelete(ada)
    #expect(try trio.a.values(ada) == ["edit", "a0"])
  }

  @Test func `a ring agrees on a deletion of a value by a clock ahead`() throws {
    let trio = try trio()
    try ahead(year) { try trio.c.set(form("ahead"), for: ada) }
    _ = try trio.a.merge(trio.c)
    home.tick()
    try trio.a.remove(ada, keptUntil: .distantFuture)
    _ = try (trio.b.merge(trio.a), trio.c.merge(trio.b), trio.a.merge(trio.c))
    #expect(try trio.a.list().isEmpty && trio.b.list().isEmpty && trio.c.list().isEmpty)
    #expect(try trio.b.merge(trio.a).isEmpty && trio.c.merge(trio.b).isEmpty && trio.a.merge(trio.c).isEmpty)
    try trio.b.undelete(ada)
    #expect(try trio.b.values(ada) == ["ahead", "a0"])
  }

  @Test(arguments: [nil, 0]) func `a loser is kept where no history is`(keeping: Int?) throws {
    let trio = try trio(keeping: 0)
    try trio.a.set(form("a1"), for: ada)
    home.tick()
    try trio.b.set(form("b1"), for: ada)
    let report = try trio.a.merge(trio.b, keeping: keeping)
    #expect(report.conflicts == [MergeReport.Conflict(name: ada, winner: .other, kept: 2)])
    #expect(try trio.a.values(ada) == ["b1", "a1"] && trio.a.item(ada)?.history == 1)
    #expect(try trio.a.merge(trio.b, keeping: keeping).isEmpty)
    _ = try trio.b.merge(trio.a)
    #expect(try trio.b.values(ada) == ["b1", "a1"])
    try expectSettled(trio.a, trio.b)
  }

  @Test func `a field that was edited before its item was deleted elsewhere is kept among the versions`() throws {
    let (pin, puk) = (try ada.field(named: "pin"), try ada.field(named: "puk"))
    let trio = try trio { vault in for field in [pin, puk] { try vault.set(form("0"), for: field, keeping: 10) } }
    try trio.b.set(form("edit"), for: puk)
    home.tick()
    try trio.a.remove(ada, keptUntil: .distantFuture)
    #expect(try trio.a.merge(trio.b).kept == [ada])
    #expect(try Set(trio.a.values(puk)) == ["edit", "0"] && trio.a.values(pin) == ["0"])
    try expectSettled(trio.a, trio.b)
    try trio.b.undelete(ada)
    #expect(try trio.b.values(puk) == ["edit", "0"] && trio.b.fields(of: ada).count == 2)
  }

  @Test func `a content that was deleted elsewhere is kept under one that was changed since`() throws {
    let trio = try trio()
    try trio.b.set(form("b1"), for: ada)
    try trio.b.remove(ada, keptUntil: .distantFuture)
    home.tick()
    try trio.a.set(form("a2"), for: ada)
    let report = try trio.a.merge(trio.b)
    #expect(try report.joined == [ada] && trio.a.values(ada) == ["a2", "b1", "a0"])
    try expectSettled(trio.a, trio.b)
  }

  @Test func `a version of what both deleted has its own time wherever it was deleted`() throws {
    let trio = try trio()
    try trio.b.apply([.describe(ada, as: ItemMetadata(label: "L"))])
    _ = try trio.a.merge(trio.b)
    home.tick()
    try trio.b.remove(ada, keptUntil: .distantFuture)
    try trio.a.set(form("a2"), for: ada)
    try trio.a.remove(ada, keptUntil: .distantFuture)
    try expectSettled(trio.a, trio.b)
    #expect(try trio.a.values(ada) == ["a2", "a0", "a0"] && trio.b.values(ada) == ["a2", "a0", "a0"])
  }

  @Test func `a version is taken over, though another one of the name was deleted with an equal one`() throws {
    let trio = try trio { vault in try vault.set(form("a0"), for: bob) }
    let cat = ItemName(sealed: "svc", "cat")
    try trio.a.remove(bob, keptUntil: .distantFuture)
    try trio.a.set(form("a1"), for: ada, keeping: 0)
    home.tick()
    try trio.a.apply([.move(ada, to: bob)])
    _ = try trio.b.merge(trio.a, keeping: 10)
    home.tick()
    try trio.b.apply([.move(bob, to: cat)])
    _ = try trio.a.merge(trio.b, keeping: 10)
    #expect(try trio.a.values(cat) == ["a1", "a0"] && trio.a.merge(trio.b, keeping: 10).isEmpty)
  }
}
