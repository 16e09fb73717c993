import CofferMemory
import CofferPlatform
import CofferStorage
import Foundation
import SystemPackage
import CofferTestSupport
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

/// Kills a process at a system call, or fails the call, during each kind of change. Acknowledged changes survive, the vault
/// is the old or the new one, `verify` and the pins report nothing, the next write works, and no file holds plaintext.
@Suite(.tags(.campaign, .kill, .process), .wholeRun)
struct FaultCampaign {
  struct Facts: Equatable {
    /// Newest first.
    var target = ["present old plaintext", "former backup plaintext"]
    var field = ["present field plaintext"]
    var gone = ["deleted gone plaintext"]
    var moved: [String] = []
    var movedField: [String] = []
    var epoch: UInt64 = 1
    var slots = 2

    static func epoch(_ epoch: UInt64, slots: Int = 2) -> Facts { Facts(epoch: epoch, slots: slots) }
  }

  static let steps: [(name: String, new: Facts)] =
    [
      ("init", Facts(target: [], field: [], gone: [], slots: 1)),
      ("set", Facts(target: ["present new plaintext", "former old plaintext", "former backup plaintext"])),
      ("delete", Facts(target: [], field: [])),
      ("rotate", .epoch(2)),
      ("passphrase", .epoch(2)),
      ("slot-add", .epoch(1, slots: 3)),
      ("slot-remove", .epoch(2, slots: 1)),
      ("restore", Facts(target: ["present backup plaintext"], epoch: 2)),
      (
        "delete-keeping",
        Facts(target: ["deleted old plaintext", "former backup plaintext"], field: ["deleted field plaintext"])
      ),
      (
        "move", Facts(target: [], field: [], moved: Facts().target, movedField: Facts().field)
      ),
      (
        "merge",
        Facts(
          target: [], field: ["deleted field plaintext"],
          moved: ["present their plaintext", "former old plaintext", "former backup plaintext"])
      ),
    ]
    + (Campaign.isLong
      ? [
        ("revert", Facts(target: ["present backup plaintext", "former old plaintext", "former backup plaintext"])),
        ("undelete", Facts(gone: ["present gone plaintext"])),
        ("prune", Facts(target: ["present old plaintext"], gone: [])),
      ] : [])
  private static let others = 5
  private static var target: ItemName { ItemName(sealed: "svc", "target") }
  private static var gone: ItemName { ItemName(sealed: "svc", "gone") }
  private static var moved: ItemName { ItemName(sealed: "svc", "moved") }
  private static func name(_ number: Int) -> ItemName { ItemName(sealed: "svc", "\(number)") }
  /// Reports that a system call's failure must never cause.
  private static let alarms = [
    "tampered", "damaged", "rolledBack", "forked", "replaced", "wrongSecret", "notAVault", "newerFormat",
  ]

  /// - Parameter withRollbackJournal: whether the vault has no write-ahead log, as on a network file system.
  static func prepared(withRollbackJournal: Bool = false) throws -> KeptFiles {
    let place = try TemporaryVault()
    _ = try place.keyFile()
    let options = VaultOptions(pins: place.folder.appending("pins"))
    let vault = try UnlockedVault.create(at: place.path, with: TemporaryVault.credentials(), cost: .testing, options: options)
    try vault.addSlot(Credentials(passphrase: secret("passphrase")), label: "one", cost: .testing)
    for number in 0..<others { try vault.set(form("plaintext \(number)"), for: name(number)) }
    try vault.set(form("backup plaintext"), for: target, keeping: 2)
    try vault.set(form("field plaintext"), for: target.field(named: "pin"))
    try vault.set(form("gone plaintext"), for: gone)
    try vault.remove(gone, keptUntil: .distantFuture)
    let locked = try vault.lock()
    _ = try locked.backup(to: place.path.appending(suffix: ".backup"))
    let again = try place.unlocked(options)
    try again.set(form("old plaintext"), for: target)
    try changedElsewhere(again, place)
    _ = try again.lock()
    if withRollbackJournal { try place.attack("PRAGMA journal_mode=DELETE") }
    return try KeptFiles(place.folder)
  }

  /// Another vault with the same items, except the target's name, value and field.
  private static func changedElsewhere(_ vault: borrowing UnlockedVault, _ place: TemporaryVault) throws {
    let other = try UnlockedVault.create(at: place.path.appending(suffix: ".other"), with: TemporaryVault.credentials())
    _ = try other.merge(vault)
    try other.apply([.move(target, to: moved)])
    try other.set(form("their plaintext"), for: moved)
    try other.remove(moved.field(named: "pin"), keptUntil: .distantFuture)
    _ = try other.lock()
  }

  /// One worker's folder, reset before each step.
  private final class Bench {
    let place: TemporaryVault
    private let files: KeptFiles
    private let keyFile: KeptFiles
    var tally = Tally()

    init(_ kept: KeptFiles) throws {
      place = try TemporaryVault()
      files = try kept.moved(to: place)
      keyFile = KeptFiles(kept.files.filter { $0.key == "key" })
    }

    private var options: VaultOptions { VaultOptions(pins: place.folder.appending("pins")) }

    func reset(for step: String) throws {
      for name in try FileManager.default.contentsOfDirectory(atPath: place.folder.string) {
        try FileManager.default.removeItem(atPath: "\(place.folder)/\(name)")
      }
      try (step == "init" ? keyFile : files).put(into: place.folder)
    }

    func judge(_ step: (name: String, new: Facts), _ end: TracedTool.End, _ group: String, _ what: @autoclosure () -> String) {
      var outcome: String
      do { outcome = try outcomeOf(step, end) } catch { outcome = "FAILED \((error as? StoreError)?.word ?? "\(error)")" }
      let ended = end.wasSignalled ? (end.code == SIGKILL ? "killed" : "CRASHED \(end.code)") : end.code == 0 ? "done" : "refused"
      if end.isFailure, Self.isAlarm(end.output) { outcome = "FALSE ALARM, \(outcome)" }
      if end.isFailure, !end.output.contains("refused ") { outcome = "NO NAMED ERROR, \(outcome)" }
      let isRight = outcome.allSatisfy { !$0.isUppercase } && !ended.hasPrefix("CRASHED")
      tally.add(
        "\(step.name), \(group)", "\(ended), \(outcome)", allowed: isRight ? ["\(ended), \(outcome)"] : [],
        "\(what()) at \(end.call ?? "no call"): \(end.output)")
    }

    private static func isAlarm(_ output: String) -> Bool { alarms.contains { output.contains("refused \($0)") } }

    private func outcomeOf(_ step: (name: String, new: Facts), _ end: TracedTool.End) throws -> String {
      if step.name == "init", kind({ _ = try LockedVault.open(place.path) }) == .noVault {
        guard !end.isAcknowledged else { return "ACKNOWLEDGED AND GONE" }
        _ = try UnlockedVault.create(at: place.path, with: TemporaryVault.credentials(), options: options).lock()
        return "old"
      }
      let found = try facts(step.name)
      guard found == step.new || (found == Facts() && step.name != "init") else { return "NEITHER OLD NOR NEW: \(found)" }
      guard found == step.new || !end.isAcknowledged else { return "ACKNOWLEDGED AND LOST" }
      // A process that failed has reported that nothing changed, or that this is unknown.
      if end.isFailure, found == step.new, step.name != "init", !end.output.contains("refused outcomeUnknown") {
        return "REFUSED AND DONE"
      }
      if let plaintext = try plaintext() { return "PLAINTEXT in \(plaintext)" }
      return found == step.new ? "new" : "old"
    }

    private func facts(_ step: String) throws -> Facts {
      let vault = try place.unlocked(options)
      if step != "init" {
        for number in 0..<FaultCampaign.others where text(try vault.get(FaultCampaign.name(number))) != "plaintext \(number)" {
          throw TracedTool.Failed(what: "WRONG VALUE")
        }
      }
      let status = try vault.status()
      _ = try vault.verify()
      let (target, moved) = (FaultCampaign.target, FaultCampaign.moved)
      let found = Facts(
        target: try contents(of: target, in: vault), field: try contents(of: target.field(named: "pin"), in: vault),
        gone: try contents(of: FaultCampaign.gone, in: vault), moved: try contents(of: moved, in: vault),
        movedField: try contents(of: moved.field(named: "pin"), in: vault), epoch: status.epoch, slots: status.slots.count)
      // The next write works and leaves nothing of an old key.
      try vault.set(form("later"), for: .sample)
      guard text(try vault.get(.sample)) == "later", try !vault.status().oldBytesRemain else {
        throw TracedTool.Failed(what: "OLD BYTES REMAIN")
      }
      _ = try vault.lock()
      if step == "passphrase" { try checkPassphrase(isNew: found.epoch == 2) }
      return found
    }

    private func contents(of name: ItemName, in vault: borrowing UnlockedVault) throws -> [String] {
      try vault.revisions(of: name).map {
        "\($0.state.rawValue) \(text(try vault.get(name, revision: $0.item.revision)) ?? "nothing")"
      }
    }

    private func checkPassphrase(isNew: Bool) throws {
      for (passphrase, opens) in [("passphrase", !isNew), ("new passphrase", isNew)] {
        let kind = kind {
          _ = try LockedVault.open(place.path).unlock(with: Credentials(passphrase: secret(passphrase)))
        }
        guard (kind == nil) == opens else { throw TracedTool.Failed(what: "ANOTHER PASSPHRASE OPENS") }
      }
    }

    private func plaintext() throws -> String? {
      let secrets = ["plaintext", "passphrase"].map { Data($0.utf8) }
      return try KeptFiles(place.folder).files.first { _, bytes in secrets.contains { bytes.range(of: $0) != nil } }?.key
    }
  }

  /// The long form has a bench for each step: if a lock is never free, SQLite waits some ten seconds.
  private func forEachStep(
    _ title: String, of steps: [(name: String, new: Facts)] = Self.steps, withRollbackJournal: Bool = false,
    killed: Bool = false, _ body: @escaping @Sendable (Bench, (name: String, new: Facts)) throws -> Void
  ) throws {
    try Tracing.need()
    let kept = try Self.prepared(withRollbackJournal: withRollbackJournal)
    let tallies = Collected()
    let workers = Campaign.isLong ? steps.count : 2
    Campaign.concurrently(workers) { worker in
      let bench = try Bench(kept)
      for (number, step) in steps.enumerated() where number % workers == worker { try body(bench, step) }
      tallies.add(bench.tally)
    }
    tallies.all.report(title)
    if killed { #expect(tallies.all.count(of: "killed") > 0) }
  }

  /// All cases in the long form; `few` otherwise, different for each step.
  private static func chosen<Case>(_ cases: [Case], few: Int, _ step: String) -> [Case] {
    guard !Campaign.isLong else { return Campaign.cases(cases.count, short: 1).map { cases[$0] } }
    var random = Random(seed: UInt64(step.utf8.reduce(7) { $0 &* 31 &+ Int($1) }))
    return (0..<few).compactMap { _ in cases.randomElement(using: &random) }
  }

  /// In the short form, steps alternate between the two faults.
  private static func parity(_ step: String) -> Int { (steps.firstIndex { $0.name == step } ?? 0) / 2 % 2 }

  @Test func `killed at any system call`() throws {
    try forEachStep("kills at system calls", killed: true) { bench, step in
      try bench.reset(for: step.name)
      let tool = TracedTool(bench.place, step.name)
      for call in Self.chosen(try tool.points(of: "all"), few: 1, step.name) {
        try bench.reset(for: step.name)
        bench.judge(step, try tool.run(.kill, at: call), "killed", "\(call.name) \(call.number)")
      }
    }
  }

  @Test func `a system call fails once or from there on`() throws {
    try forEachStep("failing system calls") { bench, step in
      let tool = TracedTool(bench.place, step.name)
      let faults = [(TracedTool.Fault.inputOutput, TracedTool.calls), (.noSpace, TracedTool.spending)]
      for (number, (fault, calls)) in faults.enumerated() where Campaign.isLong || Self.parity(step.name) == number {
        try bench.reset(for: step.name)
        let points = try tool.points(of: calls)
        for persists in [false, true] where Campaign.isLong || (fault == .noSpace) == persists {
          for call in Self.chosen(points, few: 1, step.name) {
            try bench.reset(for: step.name)
            let end = try tool.run(fault, at: call, of: persists ? calls : nil)
            let group = "\(fault == .noSpace ? "no space" : "input or output fails")\(persists ? " from there on" : "")"
            bench.judge(step, end, group, "\(call.name) \(call.number)")
          }
        }
      }
    }
  }

  /// A rollback journal's commit may be reported as failed after the journal is gone.
  @Test func `a system call fails beside a rollback journal`() throws {
    let steps = Self.steps.filter { ["set", "delete", "rotate"].contains($0.name) }
    try forEachStep("failing system calls beside a rollback journal", of: steps, withRollbackJournal: true) { bench, step in
      try bench.reset(for: step.name)
      let tool = TracedTool(bench.place, step.name)
      let points = try tool.points(of: "pwrite64,fsync,fdatasync,ftruncate,unlink,fcntl")
      for call in Self.chosen(points, few: 3, step.name) {
        try bench.reset(for: step.name)
        bench.judge(step, try tool.run(.inputOutput, at: call), "input or output fails", "\(call.name) \(call.number)")
      }
      // A commit can be in doubt only at a sync or removal.
      for call in points where ["fsync", "fdatasync", "unlink"].contains(call.name) {
        try bench.reset(for: step.name)
        bench.judge(step, try tool.run(.inputOutput, at: call), "a sync or removal fails", "\(call.name) \(call.number)")
      }
    }
  }

  /// A file size limit cuts the write that crosses it short, and fails later ones.
  @Test func `a write is short`() throws {
    try forEachStep("short writes") { bench, step in
      let tool = TracedTool(bench.place, step.name)
      for limit in Self.chosen(Array(0..<192), few: 1, step.name) {
        try bench.reset(for: step.name)
        bench.judge(step, try tool.run(fileLimit: limit * 512 + limit % 7), "short write", "limit \(limit * 512)")
      }
    }
  }
}
