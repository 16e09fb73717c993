import CofferMemory
import CofferPlatform
import CofferStorage
import CofferTestSupport
import Foundation
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

/// Two copies of a vault, changed at random under different clocks, and merged into each other.
@Suite(.tags(.campaign), .wholeRun)
struct MergeCampaign {
  private final class Bench {
    let pair: MergedPair, copies: MergedPair
    let home: MergedHome
    /// Of every other bench nil: then some values have no room.
    let keeping: Int?
    private let places: [TemporaryVault]

    init(seed: Int, _ random: inout Random, _ tally: inout Tally) throws {
      home = try MergedHome()
      keeping = seed % 2 == 0 ? 20 : nil
      let here = try home.create()
      for name in RandomHistory.names.prefix(7) { try here.set(form("first"), for: name, keeping: seed % 3 * 4) }
      pair = try home.pair(here)
      // One clock may be ahead, and both may write in one millisecond.
      let ahead: Double = [0, 0, 0.003, 40].randomElement(using: &random) ?? 0
      for step in 1...Int.random(in: 2...40, using: &random) {
        home.now += Double(Int.random(in: 0...2, using: &random)) / 1000
        if Int.random(in: 0..<8, using: &random) == 0 {
          tally.add("stories", try RandomHistory.tell(pair, &random))
          continue
        }
        let isHere = Bool.random(using: &random)
        if !isHere { home.now += ahead }
        let what = try isHere ? RandomHistory.change(pair.here, step, &random) : RandomHistory.change(pair.there, step, &random)
        if !isHere { home.now -= ahead }
        tally.add("changes", what)
        if step % 13 == 0 { _ = try pair.mergeHere(keeping: keeping) }
      }
      places = try [home.here.copy(), home.there.copy()]
      copies = try MergedPair(here: places[0].unlock(), there: places[1].unlock())
    }
  }

  private static func known(_ vault: borrowing UnlockedVault) throws -> Set<String> {
    var values: Set<String> = []
    try vault.forEachItem(withFields: true) { _, form in values.insert(text(form) ?? "nothing") }
    let former = try vault.core.read { (vault) throws(StoreError) in
      var none = Change()
      return try vault.items.records.notes(in: .old, &none).map { (note) throws(StoreError) in
        let source = MergeSource(items: vault.items, table: .old, index: note.index, isOurs: false)
        return text(try source.open(Change()).form()) ?? "nothing"
      }
    }
    return values.union(former)
  }

  private static func expected(_ pair: MergedPair) throws -> [UUID: String] {
    var mine: [UUID: VaultItem] = [:], expected: [UUID: String] = [:]
    for item in try pair.here.list() { mine[item.id] = item }
    for other in try pair.there.list() {
      guard let own = mine[other.id], let ours = try text(pair.here.get(own.name)),
        let theirs = try text(pair.there.get(other.name))
      else { continue }
      let weKnow = try pair.here.revisions(of: own.name).dropFirst().contains { try pair.here.isPrevious($0, other, theirs) }
      let theyKnow = try pair.there.revisions(of: other.name).dropFirst().contains { try pair.there.isPrevious($0, own, ours) }
      let order = (own.written, own.modified, ours) < (other.written, other.modified, theirs)
      expected[other.id] = (weKnow == theyKnow ? order : theyKnow) ? theirs : ours
    }
    return expected
  }

  private static func check(_ bench: Bench, _ tally: inout Tally) throws -> String? {
    let (pair, copies, keeping) = (bench.pair, bench.copies, bench.keeping)
    let expected = try expected(pair)
    let before = try known(pair.here).union(known(pair.there))
    let untouched = try pair.there.status().generation
    let report = try pair.mergeHere(keeping: keeping)
    _ = try copies.there.merge(copies.here, keeping: keeping)
    tally.add("merges", report.conflicts.isEmpty ? "without a conflict" : "with conflicts")
    guard report.leftOut.isEmpty, try pair.there.status().generation == untouched else { return "the other vault changed" }
    let found = try pair.here.contents()
    guard try found == copies.there.contents() else { return "\(found) here, \(try copies.there.contents()) there" }
    for item in try pair.here.list() {
      guard let value = expected[item.id], try text(pair.here.get(item.name)) != value else { continue }
      return "\(item.name) is not \(value)"
    }
    _ = try pair.there.merge(pair.here, keeping: keeping)
    guard try found == pair.there.contents() else { return "\(found) here, \(try pair.there.contents()) there afterwards" }
    try pair.awaitRemoval()
    let generations = try [pair.here.status().generation, pair.there.status().generation]
    let again = try [pair.mergeHere(keeping: keeping), pair.there.merge(pair.here, keeping: keeping)]
    guard again.allSatisfy(\.isEmpty), try generations == [pair.here.status().generation, pair.there.status().generation] else {
      return "a second merge changes something: \(again)"
    }
    let lost = try before.subtracting(known(pair.here).union(known(pair.there)))
    guard lost.isEmpty || keeping == nil else { return "\(lost) are gone" }
    _ = try (pair.here.verify(), pair.there.verify(), bench.home.here.unlock().verify())
    return nil
  }

  @Test func `two vaults have the same items once each has merged the other, and nothing is lost`() throws {
    let rounds = Campaign.size(short: 24, long: 6000)
    let counts = Collected()
    Campaign.concurrently(min(rounds, 2)) { worker in
      var tally = Tally()
      for seed in stride(from: worker, to: rounds, by: 2 * Campaign.share) {
        var random = Random(seed: UInt64(7000 + seed))
        let bench = try Bench(seed: seed, &random, &tally)
        if let difference = try Self.check(bench, &tally) { tally.add("rounds", "WRONG", allowed: [], "\(seed): \(difference)") }
      }
      counts.add(tally)
    }
    counts.all.report("merges of two vaults")
  }
}

extension UnlockedVault {
  /// Whether `revision` is a content of the other vault's item.
  fileprivate borrowing func isPrevious(_ revision: VaultRevision, _ item: VaultItem, _ value: String) throws -> Bool {
    try revision.state == .former && revision.item.written == item.written && revision.item.modified == item.modified
      && revision.item.metadata == item.metadata && text(get(revision.item.name, revision: revision.item.revision)) == value
  }
}
