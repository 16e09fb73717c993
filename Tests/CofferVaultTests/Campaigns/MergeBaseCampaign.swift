import CofferPlatform
import CofferStorage
import CofferTestSupport
import Foundation
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

/// Random histories of three machines that sync with bases: `model.py` has the same rules.
@Suite(.tags(.campaign), .wholeRun)
struct MergeBaseCampaign {
  private static let names =
    ["a", "b", "c", "d"].map { ItemName(sealed: "svc", $0) } + [ItemName(sealed: "svc", "a", field: "f")]

  /// What was written and removed, by the ids of the items.
  private struct Story {
    var written: Set<String> = ["a0", "b0", "c0"]
    /// Removed for good, while all machines agreed on the item.
    var purged: Set<String> = []
    /// Removed for good by anybody.
    var lost: Set<String> = []
    var ids: Set<UUID> = []
  }

  private static func values(_ vault: borrowing UnlockedVault, of name: ItemName? = nil) throws -> Set<String> {
    try vault.core.read { (vault) throws(StoreError) in
      var none = Change(), values: Set<String> = []
      let side = try MergeSide(vault.items.whole, isOurs: true, pairs: nil, leavingOut: { _ in false }, &none)
      for source in side.rows().values.joined() {
        let meta = try source.meta(none)
        guard name.map({ $0.item == meta.name.item && ($0.field.isEmpty || $0 == meta.name) }) ?? true else { continue }
        values.insert(text(try source.open(none).form()) ?? "nothing")
      }
      return values
    }
  }

  private static func change(
    _ machine: MergedMachines.Machine, _ all: MergedMachines, _ step: Int, _ story: inout Story, _ random: inout Random
  ) throws -> String {
    var present: [ItemName] = []
    try machine.vault.forEachItem(withFields: true) { item, _ in present.append(item.name) }
    guard let there = present.randomElement(using: &random) else { return "nothing" }
    let id = try machine.vault.item(there.item)?.id ?? UUID()
    let isPurged = story.ids.contains(id)
    switch Int.random(in: 0..<10, using: &random) {
    case 0..<5:
      let name = Bool.random(using: &random) ? there : names.randomElement(using: &random) ?? there
      let value = "v\(step)"
      guard kind({ try machine.vault.set(form(value), for: name, keeping: 100) }) == nil else { return "set refused" }
      story.written.insert(value)
      return "set"
    case 5...6 where !isPurged: return try machine.vault.remove(there, keptUntil: .distantFuture) ? "remove" : "nothing"
    case 7 where !isPurged:
      guard let deleted = try machine.vault.deleted().randomElement(using: &random), !story.ids.contains(deleted.item.id) else {
        return "nothing"
      }
      return kind { try machine.vault.undelete(deleted.item.name) } == nil ? "undelete" : "undelete refused"
    case 8 where !isPurged && there.field.isEmpty:
      let other = names[Int.random(in: 0..<4, using: &random)]
      return kind { try machine.vault.apply([.move(there, to: other, if: .absent)]) } == nil ? "move" : "move refused"
    default:
      guard there.field.isEmpty else { return "nothing" }
      let gone = try values(machine.vault, of: there)
      let agreed = try all.machines.allSatisfy { other in
        try other.vault.item(there) == machine.vault.item(there) && values(other.vault, of: there) == gone
          && other.bases[0].vector == machine.bases[0].vector
      }
      guard try machine.vault.remove(there) else { return "nothing" }
      story.lost.formUnion(gone)
      guard agreed else { return "forever" }
      story.ids.insert(id)
      // Another item may have taken over a deleted content.
      let elsewhere = try all.machines.map { try values($0.vault) }.reduce(into: Set()) { $0.formUnion($1) }
      story.purged.formUnion(gone.subtracting(elsewhere))
      return "forever, agreed"
    }
  }

  private static func check(_ seed: Int, _ tally: inout Tally) throws -> String? {
    var random = Random(seed: UInt64(9000 + seed)), story = Story()
    let clock = Mutable(Date(timeIntervalSince1970: 1_000_000_000))
    let year: Double = 365 * 86400
    var skews: [Double] = []
    for _ in 0..<3 { skews.append([0, 0, year, -year, 5].randomElement(using: &random) ?? 0) }
    let all = try MergedMachines(skews: skews, clock) { vault in
      for name in names.prefix(3) { try vault.set(form("\(name.account)0"), for: name, keeping: 100) }
    }
    for step in 1...Int.random(in: 6...30, using: &random) {
      clock.value += [1, 60, 3600].randomElement(using: &random) ?? 1
      guard let machine = all.machines.randomElement(using: &random) else { continue }
      if Int.random(in: 0..<10, using: &random) < 6 {
        tally.add("changes", try change(machine, all, step, &story, &random))
      } else {
        try all.sync(machine, isRaced: Int.random(in: 0..<4, using: &random) == 0)
        if Bool.random(using: &random) { all.deliver() }
      }
    }
    try all.settle()
    try all.settle()
    let heads = all.heads.count
    try all.settle()
    guard all.heads.count == heads else { return "machines put although nothing changed" }
    guard try Set(all.machines.map { try $0.vault.root() }).count == 1 else {
      return "the machines differ: \(try all.machines.map { try $0.vault.contents() })"
    }
    let found = try values(all.machines[0].vault)
    let lost = story.written.subtracting(found).subtracting(story.lost)
    guard lost.isEmpty else { return "\(lost) are gone" }
    let back = story.purged.intersection(found)
    guard back.isEmpty else { return "\(back) came back" }
    for machine in all.machines { _ = try machine.vault.verify() }
    tally.add("histories", all.reports.contains { !$0.conflicts.isEmpty } ? "with conflicts" : "without a conflict")
    return nil
  }

  @Test func `three machines come to the same rows, lose nothing, and what was removed for good stays away`() throws {
    let rounds = Campaign.size(short: 24, long: 4000)
    let counts = Collected()
    Campaign.concurrently(min(rounds, 2)) { worker in
      var tally = Tally()
      for seed in stride(from: worker, to: rounds, by: 2 * Campaign.share) {
        guard let difference = try Self.check(seed, &tally) else { continue }
        tally.add("rounds", "WRONG", allowed: [], "\(seed): \(difference)")
      }
      counts.add(tally)
    }
    counts.all.report("syncs of three machines")
  }
}
