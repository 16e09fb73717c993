import CofferPlatform
import CofferStorage
import CofferTestSupport
import Foundation
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

/// Three machines of different clocks that merge one file in turn and replace it, as over a shared folder.
@Suite(.tags(.campaign), .wholeRun)
struct MergeHubCampaign {
  private static let names = ["ada", "bob", "eve"].map { ItemName(sealed: "svc", $0) }

  private final class Machine {
    let place: TemporaryVault
    let vault: UnlockedVault

    init(_ place: TemporaryVault, _ skew: Double, _ clock: Mutable<Date>) throws {
      self.place = place
      vault = UnlockedVault(
        try OpenVault.unlock(
          .file(place.path), with: TemporaryVault.credentials(), clock: { clock.value.addingTimeInterval(skew) }))
    }
  }

  private static func values(_ vault: borrowing UnlockedVault) throws -> Set<String> {
    try vault.core.read { (vault) throws(StoreError) in
      var none = Change(), values: Set<String> = []
      let side = try MergeSide(vault.items.whole, isOurs: true, pairs: nil, leavingOut: { _ in false }, &none)
      for source in side.rows().values.joined() { values.insert(text(try source.open(none).form()) ?? "nothing") }
      return values
    }
  }

  private static func check(_ seed: Int) throws -> String? {
    var random = Random(seed: UInt64(11_000 + seed))
    let clock = Mutable(Date(timeIntervalSince1970: 1_000_000_000))
    let year: Double = 365 * 86400
    let first = try TemporaryVault()
    var written: Set<String> = []
    do {
      let vault = try MergedHome.create(first, clock)
      for name in names {
        try vault.set(form("\(name.account)0"), for: name, keeping: 20)
        written.insert("\(name.account)0")
      }
    }
    var machines: [Machine] = []
    for _ in 0..<3 {
      let skew: Double = [0, 0, year, -year, 5].randomElement(using: &random) ?? 0
      machines.append(try Machine(first.copy(), skew, clock))
    }
    var hub = first
    func sync(_ machine: Machine) throws -> Bool {
      let other = try hub.unlock()
      let report = try machine.vault.merge(other, keeping: 20)
      hub = try TemporaryVault()
      _ = try LockedVault.open(machine.place.path).backup(to: hub.path)
      return !report.isEmpty
    }
    for step in 1...Int.random(in: 8...18, using: &random) {
      clock.value += [1, 60, 3600].randomElement(using: &random) ?? 1
      guard let machine = machines.randomElement(using: &random), let name = names.randomElement(using: &random) else { continue }
      switch Int.random(in: 0..<11, using: &random) {
      case 0..<5:
        try machine.vault.set(form("v\(step)"), for: name, keeping: 20)
        written.insert("v\(step)")
      case 5: _ = try machine.vault.remove(name, keptUntil: .distantFuture)
      case 6:
        let new = ItemName(sealed: "svc", ["ada", "bob", "eve", "zoe", "kim"].randomElement(using: &random) ?? "zoe")
        _ = kind { try machine.vault.apply([.move(name, to: new, if: .absent)]) }
      case 7: _ = kind { try machine.vault.apply([.describe(name, as: ItemMetadata(label: "L\(step)"))]) }
      default: _ = try sync(machine)
      }
    }
    var quiet = 0
    for _ in 0..<8 where quiet < 2 {
      clock.value += 1
      let changes = try machines.map(sync)
      quiet = changes.contains(true) ? 0 : quiet + 1
    }
    guard quiet == 2 else { return "they never agree" }
    let contents = try machines.map { try $0.vault.contents() }
    guard Set(contents).count == 1 else { return "they differ: \(contents)" }
    let lost = try written.subtracting(values(hub.unlock()))
    return lost.isEmpty ? nil : "\(lost) are not in the file"
  }

  @Test func `three machines that merge one file in turn agree, and the file has all that was written`() throws {
    let rounds = Campaign.size(short: 24, long: 4000)
    let counts = Collected()
    Campaign.concurrently(min(rounds, 2)) { worker in
      var tally = Tally()
      for seed in stride(from: worker, to: rounds, by: 2 * Campaign.share) {
        tally.add("histories", "merged")
        guard let difference = try Self.check(seed) else { continue }
        tally.add("rounds", "WRONG", allowed: [], "\(seed): \(difference)")
      }
      counts.add(tally)
    }
    counts.all.report("merges of one file in turn")
  }
}
