import CofferPlatform
import CofferStorage
import CofferTestSupport
import Foundation
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

/// Merges of three ways: with what both sides last agreed on.
@Suite struct MergeBaseTests {
  private let clock = Mutable(Date(timeIntervalSince1970: 1_000_000))
  private let ada = ItemName(sealed: "svc", "ada"), bob = ItemName(sealed: "svc", "bob")
  private let year: Double = 365 * 86400

  private func machines(
    skews: [Double] = [0, 0, 0], _ prepare: (borrowing UnlockedVault) throws -> Void = { _ in }
  ) throws -> MergedMachines {
    try MergedMachines(skews: skews, clock) { vault in
      try vault.set(form("a0"), for: ada, keeping: 5)
      try vault.set(form("b0"), for: bob, keeping: 5)
      try prepare(vault)
    }
  }

  private func tick() { clock.value += 1 }

  private func expectSame(_ all: MergedMachines, _ location: SourceLocation = #_sourceLocation) throws {
    #expect(try Set(all.machines.map { try $0.vault.root() }).count == 1, sourceLocation: location)
    for machine in all.machines { _ = try machine.vault.verify() }
  }

  @Test func `what one machine changed comes with the very rows, whatever the clocks say`() throws {
    let pin = try ada.field(named: "pin")
    let all = try machines(skews: [0, year, -year]) { try $0.set(form("0"), for: pin, keeping: 5) }
    for (turn, machine) in all.machines.enumerated() {
      tick()
      try machine.vault.set(form("a\(turn + 1)"), for: ada)
      try machine.vault.set(form("\(turn + 1)"), for: pin)
      try machine.vault.apply([.move(bob, to: ItemName(sealed: "svc", "bob\(turn)"))])
      try all.sync(machine)
      for other in all.machines { try all.sync(other) }
      try machine.vault.apply([.move(ItemName(sealed: "svc", "bob\(turn)"), to: bob)])
      try all.settle()
      try expectSame(all)
    }
    #expect(all.reports.allSatisfy { $0.conflicts.isEmpty })
    #expect(try all.machines[0].vault.values(ada) == ["a3", "a2", "a1", "a0"])
    #expect(all.heads.count == 7, "nobody puts what it only took")
  }

  @Test func `both changed one content: one stays, the other is kept and told`() throws {
    let all = try machines()
    for (number, machine) in all.machines.prefix(2).enumerated() {
      tick()
      try machine.vault.set(form("new \(number)"), for: ada)
    }
    try all.settle()
    try expectSame(all)
    #expect(all.reports.flatMap(\.conflicts).count == 1)
    #expect(try all.machines[2].vault.values(ada) == ["new 1", "new 0", "a0"])
  }

  @Test func `a change beats a deletion, even one by a clock ahead`() throws {
    let all = try machines(skews: [0, year, 0])
    try all.machines[0].vault.set(form("changed"), for: ada)
    tick()
    try all.machines[1].vault.remove(ada, keptUntil: .distantFuture)
    try all.settle()
    try expectSame(all)
    #expect(try all.machines[1].vault.values(ada).prefix(2) == ["changed", "a0"])
    try all.machines[1].vault.remove(ada, keptUntil: .distantFuture)
    try all.settle()
    tick()
    try all.machines[0].vault.undelete(ada)
    try all.settle()
    try expectSame(all)
    #expect(try all.machines[1].vault.values(ada).first == "changed")
  }

  @Test func `what was removed for good does not come back, and a change of it comes without what was known`() throws {
    let all = try machines { try $0.set(form("a1"), for: ada) }
    try all.machines[0].vault.remove(ada)
    try all.machines[0].vault.remove(bob)
    tick()
    try all.machines[1].vault.set(form("a2"), for: ada)
    try all.settle()
    try expectSame(all)
    for machine in all.machines {
      #expect(try machine.vault.list().map(\.name) == [ada] && machine.vault.values(ada) == ["a2"])
    }
    try all.machines[2].vault.set(form("a3"), for: ada)
    try all.machines[2].vault.prune(.allBut(0), of: ada)
    try all.settle()
    try expectSame(all)
    #expect(try all.machines[0].vault.values(ada) == ["a3"])
  }

  @Test func `a value removed for good does not come back as a previous version of another item of its name`() throws {
    let all = try machines(), eve = ItemName(sealed: "svc", "eve")
    try all.machines[2].vault.set(form("one"), for: eve, keeping: 5)
    try all.sync(all.machines[2])
    tick()
    try all.machines[0].vault.set(form("two"), for: eve, keeping: 5)
    try all.sync(all.machines[0])
    #expect(try all.machines[0].vault.values(eve) == ["two", "one"])
    try all.machines[2].vault.remove(eve)
    try all.settle()
    try expectSame(all)
    for machine in all.machines { #expect(try machine.vault.values(eve) == ["two"]) }
  }

  @Test func `an item that one machine renamed keeps what another changed in it`() throws {
    let pin = try ada.field(named: "pin")
    let all = try machines { try $0.set(form("0"), for: pin) }
    try all.machines[0].vault.apply([.move(ada, to: ItemName(sealed: "svc", "eve"))])
    tick()
    try all.machines[1].vault.set(form("1"), for: pin)
    try all.machines[2].vault.set(form("p"), for: ada.field(named: "puk"))
    try all.settle()
    try expectSame(all)
    let eve = ItemName(sealed: "svc", "eve")
    #expect(try all.machines[2].vault.list().map(\.name) == [bob, eve])
    #expect(try text(all.machines[2].vault.get(eve.field(named: "pin"))) == "1")
    #expect(try all.machines[0].vault.fields(of: eve).map(\.name.field) == ["pin", "puk"])
    #expect(all.reports.allSatisfy { $0.conflicts.isEmpty })
  }

  @Test func `what one machine wrote and deleted stays with the item that a new field of another one keeps`() throws {
    let all = try machines()
    try all.machines[0].vault.set(form("a1"), for: ada)
    try all.machines[0].vault.remove(ada, keptUntil: .distantFuture)
    try all.machines[1].vault.set(form("1"), for: ada.field(named: "pin"))
    try all.sync(all.machines[0])
    try all.settle()
    try expectSame(all)
    #expect(try all.machines[2].vault.values(ada) == ["a0", "a1"])
  }

  /// Two machines change `ada` or `bob` without knowledge of each other; all then agree.
  private func changed(
    _ one: (borrowing UnlockedVault) throws -> Void, _ other: (borrowing UnlockedVault) throws -> Void, isSecondFirst: Bool
  ) throws -> MergedMachines {
    let all = try machines { vault in
      try vault.set(form("a1"), for: ada)
      try vault.set(form("a2"), for: ada)
    }
    try one(all.machines[0].vault)
    tick()
    try other(all.machines[1].vault)
    try all.sync(all.machines[isSecondFirst ? 1 : 0])
    try all.settle()
    try expectSame(all)
    return all
  }

  @Test(arguments: [false, true])
  func `a previous version that one machine removed does not come back with a change by another`(isSecondFirst: Bool) throws {
    let prune = { (vault: borrowing UnlockedVault) throws -> Void in _ = try vault.prune(.allBut(1), of: self.ada) }
    var all = try changed(prune, { try $0.set(form("a3"), for: ada) }, isSecondFirst: isSecondFirst)
    #expect(try all.machines[2].vault.values(ada) == ["a3", "a2", "a1"])
    let both = { (vault: borrowing UnlockedVault) throws -> Void in
      try vault.set(form("a3"), for: self.ada)
      _ = try vault.prune(.allBut(0), of: self.ada)
    }
    all = try changed(both, { try $0.set(form("b3"), for: ada) }, isSecondFirst: isSecondFirst)
    #expect(try all.machines[2].vault.values(ada) == ["b3", "a3"])
    #expect(all.reports.flatMap(\.conflicts).count == 1)
  }

  @Test(arguments: [false, true])
  func `a history that one machine only shortened keeps nothing that another deleted, or removed for good`(
    isSecondFirst: Bool
  ) throws {
    let prune = { (vault: borrowing UnlockedVault) throws -> Void in _ = try vault.prune(.allBut(0), of: self.ada) }
    var all = try changed(prune, { try $0.remove(ada, keptUntil: .distantFuture) }, isSecondFirst: isSecondFirst)
    #expect(try all.machines[2].vault.list().map(\.name) == [bob] && all.machines[2].vault.values(ada) == ["a2"])
    all = try changed(prune, { try $0.remove(ada) }, isSecondFirst: isSecondFirst)
    #expect(try all.machines[2].vault.list().map(\.name) == [bob] && all.machines[2].vault.values(ada).isEmpty)
  }

  @Test(arguments: [false, true])
  func `an item that only got a number goes where another machine renamed or removed it`(isSecondFirst: Bool) throws {
    let number = { (vault: borrowing UnlockedVault) throws -> Void in
      try vault.apply([.move(self.ada, to: ItemName(sealed: "svc", "ada (2)"))])
    }
    let cat = ItemName(sealed: "svc", "cat")
    clock.value += 2
    var all = try changed({ try $0.apply([.move(ada, to: cat)]) }, number, isSecondFirst: isSecondFirst)
    #expect(try all.machines[2].vault.list().map(\.name) == [bob, cat])
    all = try changed(number, { try $0.remove(ada) }, isSecondFirst: isSecondFirst)
    #expect(try all.machines[2].vault.list().map(\.name) == [bob])
  }

  @Test func `two heads are merged in one transaction`() throws {
    let all = try machines()
    for (number, machine) in all.machines.prefix(2).enumerated() {
      tick()
      try machine.vault.set(form("new \(number)"), for: [ada, bob][number])
      try all.sync(machine, isRaced: true)
    }
    all.deliver()
    let third = all.machines[2]
    let heads = all.heads.suffix(2)
    let base = third.bases[0].base
    let one = try heads[1].place.unlock()
    let other = try heads[2].place.unlock()
    let generation = try third.vault.status().generation
    try third.vault.mergeHeads(third.key) { (merge) throws(StoreError) in
      _ = try merge.merge(one, since: base)
      _ = try merge.merge(other, since: base)
    }
    #expect(try third.vault.status().generation == generation + 1)
    #expect(try text(third.vault.get(ada)) == "new 0" && text(third.vault.get(bob)) == "new 1")
    _ = try third.vault.verify()
  }

  @Test func `a base is read again from its bytes, and from no others`() throws {
    let all = try machines()
    let machine = all.machines[0]
    let base = try machine.vault.mergeBase(machine.key)
    let bytes = base.encoded()
    #expect(try MergeBase(decoding: bytes) == base)
    #expect(try machine.vault.mergeBase(machine.key, from: base) == base)
    for count in [0, 7, bytes.count - 1] {
      #expect(throws: FormatError.self) { try MergeBase(decoding: Array(bytes.prefix(count))) }
    }
    #expect(throws: FormatError.self) { try MergeBase(decoding: bytes + [0]) }
    // The number of slots, and that of the first pair's rows, after one slot.
    for number in [48..<50, 164..<168] {
      var huge = bytes
      huge.replaceSubrange(number, with: number.map { _ in 255 })
      #expect(throws: FormatError.self) { try MergeBase(decoding: huge) }
    }
    let other = MergeKey(try secret([UInt8](repeating: 9, count: 32)))
    #expect(try machine.vault.mergeBase(other) != base)
  }
}

extension UnlockedVault {
  /// The root of the set of rows: equal ones under one key are of equal rows.
  borrowing func root() throws -> [UInt8] {
    try core.read { (vault) throws(StoreError) in vault.view.tree.root.bytes }
  }
}
