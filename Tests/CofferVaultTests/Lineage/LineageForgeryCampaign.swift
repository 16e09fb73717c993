import CofferPlatform
import CofferStorage
import CofferTestSupport
import Foundation
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

/// Forged vaults replace a genuine one that every reader knows from elsewhere. Forgers are outsiders and a removed member.
@Suite(.tags(.campaign), .wholeRun)
struct LineageForgeryCampaign {
  enum Forger: String, CaseIterable, Sendable {
    case keyless, former
  }

  /// The header's secrets of earlier epochs that the forger does not know.
  enum List: String, CaseIterable, Sendable {
    case nothing, random, marks, shifted, foreign, full
    case unordered, double, zero, itsOwnEpoch

    var isDamage: Bool { [.unordered, .double, .zero, .itsOwnEpoch].contains(self) }
  }

  private struct Forgery: Sendable {
    let forger: Forger
    let list: List
    let epoch: UInt64
    let role: Onlooker.Role
    var name: String { "\(forger), \(list), \(role.rawValue)" }
  }

  private static let epochs: [UInt64] = [
    1, MemberVault.removal - 1, MemberVault.removal, MemberVault.removal + 1, MemberVault.removal + 5, 1 << 40, FileCounter.most,
  ]

  private static let all: [Forgery] = Forger.allCases.flatMap { forger in
    List.allCases.flatMap { list in
      epochs.flatMap { epoch in
        Onlooker.Role.allCases.map { Forgery(forger: forger, list: list, epoch: epoch, role: $0) }
      }
    }
  }

  @Test func `no key of a forger's own is served, believed or held, and the genuine vault is served again`() throws {
    let rounds = Campaign.size(short: 1, long: 11)
    let tallies = Collected()
    let workers = Campaign.isLong ? 2 : 1
    Campaign.concurrently(workers) { worker in
      let bench = try Bench()
      for round in 0..<rounds {
        let cases = Campaign.isLong ? Self.all : stride(from: 0, to: Self.all.count, by: 9).map { Self.all[$0] }
        for (number, forgery) in cases.enumerated() where (number + round) % workers == worker { try bench.judge(forgery) }
      }
      tallies.add(bench.tally)
    }
    let whole = tallies.all
    whole.report("forged vaults")
    #expect(!Campaign.isLong || whole.total >= 10_000)
  }

  private final class Bench {
    let world: MemberVault
    private let other: MemberVault
    private var onlookers: [Onlooker.Role: Onlooker] = [:]
    var tally = Tally()

    init() throws {
      (world, other) = (try MemberVault(), try MemberVault())
      for role in Onlooker.Role.allCases { onlookers[role] = try Onlooker(role, of: world) }
    }

    func judge(_ forgery: Forgery) throws {
      let onlooker = try #require(onlookers[forgery.role])
      let before = try onlooker.memory()
      let (header, key) = try header(forgery)
      try world.put(header, under: key)
      var outcome = onlooker.answer()
      if outcome == "forged" { outcome = "SERVED THE FORGED VALUE" }
      if try onlooker.memory() != before { outcome += ", AND PIN OR KEY CHANGED" }
      try world.putBack()
      if onlooker.answer() != "genuine" { outcome += ", AND THE GENUINE ONE IS REFUSED" }
      let expected = expected(forgery)
      tally.add("\(forgery.forger) against \(forgery.role.rawValue)", outcome, allowed: [expected], "\(forgery), not \(expected)")
    }

    private func expected(_ forgery: Forgery) -> String {
      let (role, epoch, now) = (forgery.role, forgery.epoch, MemberVault.removal)
      // Without W nothing can be sealed to an owner's slot; without the held key nothing opens.
      let sealsBox = role.isRecipient || (forgery.forger == .former && role != .codeAlone)
      if role.isOpen {
        guard epoch >= now else { return "rolledBack" }
        guard epoch > now, sealsBox else { return "tampered" }
      }
      guard sealsBox else { return "tampered" }
      if forgery.list.isDamage { return "damaged" }
      return epoch < now ? "rolledBack" : "forked"
    }

    /// The header, sealed to all slots of the genuine one and to one of the forger's own.
    private func header(_ forgery: Forgery) throws -> (bytes: [UInt8], key: EpochKey) {
      let isMember = forgery.forger == .former
      let known = isMember ? world.keys.dropLast().map(\.self) : []
      let key = try known.first { $0.epoch == forgery.epoch } ?? EpochKey(world.vault, forgery.epoch)
      var draft = HeaderDraft(vault: world.vault, epoch: forgery.epoch)
      let mixes = isMember ? world.mixes : [:]
      draft.slots = try world.header.slots.map { try $0.sealed(key, mix: mixes[$0.id]) }
      draft.slots.append(try SealedSlot.empty())
      draft.slots.sort { $0.id < $1.id }
      draft.mixes = mixes
      draft.entries = entries(forgery, known)
      return (try draft.bytes(key), key)
    }

    private func entries(_ forgery: Forgery, _ known: [EpochKey]) -> [LineageEntry] {
      let last = min(forgery.epoch, 9)
      let filled = (1..<max(2, last)).filter { $0 < forgery.epoch }.compactMap { epoch -> LineageEntry? in
        known.first { $0.epoch == epoch }?.entry ?? guess(forgery.list, epoch, known)
      }
      switch forgery.list {
      case .nothing, .random, .marks, .shifted, .foreign: return filled
      case .full: return forgery.epoch < 2_000 ? filled : ((forgery.epoch - 1_024)..<forgery.epoch).map { .random($0) }
      case .unordered: return filled.count > 1 ? filled.reversed() : [.random(forgery.epoch + 1)]
      case .double: return filled.isEmpty ? [.random(0)] : filled + filled.suffix(1)
      case .zero: return [.random(0)] + filled
      case .itsOwnEpoch:
        return filled + [LineageEntry(epoch: forgery.epoch, secret: known.last?.secret ?? LineageEntry.random(1).secret)]
      }
    }

    private func guess(_ list: List, _ epoch: UInt64, _ known: [EpochKey]) -> LineageEntry? {
      switch list {
      case .nothing: nil
      case .marks:
        world.marks.first { $0.epoch == epoch }.map { LineageEntry(epoch: epoch, secret: $0.mark.bytes) } ?? .random(epoch)
      case .shifted: shifted(known, epoch)
      case .foreign: other.keys.first { $0.epoch == epoch }?.entry ?? .random(epoch)
      default: .random(epoch)
      }
    }

    /// The previous epoch's secret: a member knows it, others only its mark.
    private func shifted(_ known: [EpochKey], _ epoch: UInt64) -> LineageEntry {
      let before = known.last?.secret ?? world.marks.last { $0.epoch < epoch }?.mark.bytes
      return LineageEntry(epoch: epoch, secret: before ?? LineageEntry.random(epoch).secret)
    }
  }
}
