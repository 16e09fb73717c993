import CofferPlatform
import CofferStorage
import CofferTestSupport
import Foundation
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

/// A process dies or runs out of space while it restores over a newer key, goes back to an older one, or first sees a vault
/// by an invitation. The vault is the old or the new one, the command can be repeated, a removed slot returns only with
/// consent, and the pins report nothing.
@Suite(.tags(.campaign, .kill, .process), .wholeRun)
struct MemberFaultCampaign {
  private enum Step: String, CaseIterable, Sendable {
    /// A backup from before a removal, over the vault as it is.
    case restore
    /// The same, but the vault no longer opens and the return of removed slots is allowed.
    case restoreOlder = "restore-older"
    /// A file from before a removal, whose state is gone; with the same consent.
    case repairOlder = "repair-older"
    /// A recipient who never saw the vault, with an invitation.
    case join

    var bringsBack: Bool { self == .restoreOlder || self == .repairOlder }
    var before: Set<String> {
      switch self {
      case .restore: ["old plaintext, epoch 2"]
      case .restoreOlder: ["damaged"]
      case .repairOlder: ["rolledBack", "damaged", "tampered"]
      case .join: ["old plaintext, epoch 2"]
      }
    }
    /// If the pin got the new key and the vault did not, the next try takes the epoch after that one.
    var after: Set<String> {
      switch self {
      case .restore: ["backup plaintext, epoch 3"]
      case .restoreOlder, .repairOlder: ["backup plaintext, epoch 3", "backup plaintext, epoch 4"]
      case .join: ["old plaintext, epoch 2"]
      }
    }
  }

  private static var target: ItemName { ItemName(sealed: "svc", "target") }

  /// A vault of epoch 2 for `step`, after a slot was removed, with pins and a backup of epoch 1.
  private static func prepared(_ step: Step) throws -> (files: KeptFiles, removed: [UInt8]) {
    let place = try TemporaryVault()
    _ = try place.keyFile()
    let options = VaultOptions(pins: place.folder.appending("pins"))
    let removed = try KeyFile.generate().revealed
    let vault = try UnlockedVault.create(at: place.path, with: TemporaryVault.credentials(), options: options)
    let slot = try vault.addSlot(Credentials(keyFile: SecretBytes(removed)), label: "lost").id
    let identity = try SecretBytes.random(32).revealed
    try vault.addSlot(Identity.recipient(of: SecretBytes(identity)), label: "new here")
    try vault.set(form("backup plaintext"), for: target)
    let locked = try vault.lock()
    let backup = place.path.appending(suffix: ".backup")
    _ = try locked.backup(to: backup)
    let again = try place.unlocked(options)
    try again.removeSlot(slot)
    try again.set(form("old plaintext"), for: target)
    let line = "PVID1-" + Hex.text(identity) + Hex.text(PlainHash.digest(identity).bytes.prefix(4))
    let file = "\(line)\n\(try again.invitation())\n"
    _ = try again.lock()
    try file.write(toFile: place.path.string + ".identity", atomically: true, encoding: .utf8)
    switch step {
    case .restore: break
    case .restoreOlder: try place.attack("UPDATE header SET bytes=x'00'; UPDATE header_copy SET bytes=x'00'")
    case .repairOlder:
      try KeptFiles(["vault.sqlite": Data(contentsOf: URL(fileURLWithPath: backup.string))]).put(into: place.folder)
      try place.attack("UPDATE state SET bytes=randomblob(300)")
    case .join: try FileManager.default.removeItem(atPath: place.folder.appending("pins").string)
    }
    try place.attack("PRAGMA wal_checkpoint(TRUNCATE)")
    return (try KeptFiles(place.folder), removed)
  }

  private final class Bench {
    let step: Step
    let place: TemporaryVault
    private let files: KeptFiles
    private let removed: [UInt8]
    var tally = Tally()

    init(_ step: Step) throws {
      self.step = step
      place = try TemporaryVault()
      let (files, removed) = try prepared(step)
      self.files = try step == .join ? files : files.moved(to: place)
      self.removed = removed
    }

    private var options: VaultOptions { VaultOptions(pins: place.folder.appending("pins")) }
    var tool: TracedTool { TracedTool(place, step.rawValue) }

    func reset() throws {
      for name in try FileManager.default.contentsOfDirectory(atPath: place.folder.string) {
        try FileManager.default.removeItem(atPath: "\(place.folder)/\(name)")
      }
      try files.put(into: place.folder)
    }

    private func found() -> String {
      do throws(StoreError) {
        let vault = try place.unlocked(options)
        let value = text(try vault.get(MemberFaultCampaign.target)) ?? "nothing"
        let epoch = try vault.status().epoch
        _ = try vault.verify()
        return "\(value), epoch \(epoch)"
      } catch { return error.word }
    }

    func judge(_ end: TracedTool.End, _ group: String, _ what: String) throws {
      let ended = end.wasSignalled ? (end.code == SIGKILL ? "killed" : "CRASHED \(end.code)") : end.code == 0 ? "done" : "refused"
      var outcome = found()
      let isNew = step.after.contains(outcome)
      var isRight = isNew || (step.before.contains(outcome) && !end.isAcknowledged)
      outcome = isNew ? "new" : step.before.contains(outcome) ? "old" : outcome
      if ended == "refused", !end.output.contains("refused ") { (isRight, outcome) = (false, "NO NAMED ERROR, \(outcome)") }
      // After a refusal or no change, the same command runs again.
      if !isNew {
        let again = try tool.run(TracedTool.path, tool.arguments)
        if !again.isAcknowledged || !step.after.contains(found()) {
          (isRight, outcome) = (false, "\(outcome), AND NOT TO BE REPEATED: \(found()), \(again.output)")
        }
      }
      let lost = kind {
        _ = try LockedVault.open(place.path, options: .withoutPins).unlock(with: Credentials(keyFile: SecretBytes(removed)))
      }
      if (lost == nil) != step.bringsBack {
        (isRight, outcome) = (false, "\(outcome), REMOVED SLOT: \(lost.map { "\($0)" } ?? "opens")")
      }
      let next = kind { try place.unlocked(options).set(form("later"), for: .sample) }
      if let next { (isRight, outcome) = (false, "\(outcome), NEXT WRITE: \(next)") }
      tally.add(
        "\(step.rawValue), \(group)", "\(ended), \(outcome)", allowed: isRight ? ["\(ended), \(outcome)"] : [],
        "\(what): \(end.output)")
    }
  }

  private func forEachStep(_ title: String, killed: Bool = false, _ body: @escaping @Sendable (Bench) throws -> Void) throws {
    try Tracing.need()
    let tallies = Collected()
    Campaign.concurrently(2) { worker in
      for (number, step) in Step.allCases.enumerated() where number % 2 == worker {
        let bench = try Bench(step)
        try bench.reset()
        try body(bench)
        tallies.add(bench.tally)
      }
    }
    tallies.all.report(title)
    if killed { #expect(tallies.all.count(of: "killed") > 0) }
  }

  private static func chosen(_ calls: [TracedTool.Call], _ step: Step) -> [TracedTool.Call] {
    guard !Campaign.isLong else { return Campaign.cases(calls.count, short: 1).map { calls[$0] } }
    var random = Random(seed: step.rawValue.utf8.reduce(11) { $0 &* 31 &+ UInt64($1) })
    return calls.randomElement(using: &random).map { [$0] } ?? []
  }

  @Test func `killed at any system call of a restore, a repair or a first look`() throws {
    try forEachStep("members, killed at system calls", killed: true) { bench in
      for call in Self.chosen(try bench.tool.points(of: "all"), bench.step) {
        try bench.reset()
        try bench.judge(bench.tool.run(.kill, at: call), "killed", "\(call.name) \(call.number)")
      }
    }
  }

  @Test func `no space from any system call of a restore, a repair or a first look on`() throws {
    try forEachStep("members, no space") { bench in
      for call in Self.chosen(try bench.tool.points(of: TracedTool.spending), bench.step) {
        try bench.reset()
        let end = try bench.tool.run(.noSpace, at: call, of: TracedTool.spending)
        try bench.judge(end, "no space", "\(call.name) \(call.number)")
      }
    }
  }
}
