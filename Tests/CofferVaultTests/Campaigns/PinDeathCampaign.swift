import CofferTestSupport
import CofferStorage
import Foundation
import SystemPackage
import Testing

@testable import CofferVault

/// The moment between a commit and its pin: the tool dies as it is about to write the pin.
@Suite(.tags(.campaign, .kill, .process), .wholeRun)
struct PinDeathCampaign {
  /// Runs `step` on `kept`, killed at the `number`th pin write, and returns two outcomes of the vault.
  private func die(_ step: String, _ kept: KeptFiles, at number: Int) throws -> (isKilled: Bool, outcomes: [String]) {
    let place = try TemporaryVault()
    try kept.moved(to: place).put(into: place.folder)
    let pins = place.folder.appending("pins")
    let pin = try #require(FileManager.default.contentsOfDirectory(atPath: pins.string).first { $0.hasPrefix("id-") })
    let tool = TracedTool(place, step)
    let end = try tool.run(
      "/usr/bin/strace",
      [
        "-f", "-o", "/dev/null", "-P", "\(pins)/\(pin)", "-e", "trace=pwrite64", "-e",
        "inject=pwrite64:signal=SIGKILL:when=\(number)", TracedTool.path,
      ] + tool.arguments)
    #expect(end.wasSignalled || end.isAcknowledged, "\(end.output)")
    let options = VaultOptions(pins: pins)
    let outcomes = (0..<2).map { _ in
      kind {
        let vault = try place.unlocked(options)
        _ = try vault.verify()
        try vault.set(form("and on"), for: .sample)
      }.map { "\($0)" } ?? "accepted"
    }
    return (end.wasSignalled, outcomes)
  }

  @Test func `killed between commit and pin`() throws {
    try Tracing.need()
    let kept = try FaultCampaign.prepared()
    var tally = Tally()
    for step in FaultCampaign.steps.map(\.name) where step != "init" && (Campaign.isLong || ["set", "restore"].contains(step)) {
      for number in 1...Campaign.size(short: 1, long: 6) {
        let (isKilled, outcomes) = try die(step, kept, at: number)
        #expect(isKilled || number > 1, "\(step) writes to its pin")
        for outcome in outcomes {
          tally.add(
            "\(step), \(isKilled ? "killed before the pin's write \(number)" : "had no write \(number) of the pin")", outcome,
            allowed: ["accepted"], "\(step) \(number)")
        }
      }
    }
    #expect(tally["accepted"] > 0)
    tally.report("killed between commit and pin")
  }

  /// The restored vault comes from the pin's key. The rebuilt one does not, so the pin's two records get its key before the
  /// commit: at whichever write the process dies, the pin refuses nothing committed so.
  @Test(arguments: ["restore", "rebuild"]) func `what goes back behind the pin's key is accepted once committed`(
    step: String
  ) throws {
    try Tracing.need()
    var kept = try rotated()
    // A rebuild trusts the current file; until then it is an older copy.
    if step == "rebuild" { kept = kept.with("vault.sqlite", try #require(kept.files["vault.sqlite.backup"])) }
    var tally = Tally()
    let before = step == "rebuild" ? ["rolledBack"] : ["accepted"]
    let writes = step == "rebuild" ? 4 : 2
    for number in Campaign.isLong ? Array(1...writes + 1) : [writes - 1, writes] {
      let (isKilled, outcomes) = try die(step, kept, at: number)
      #expect(isKilled == (number <= writes))
      for outcome in outcomes {
        tally.add(
          "\(step), write \(number)", outcome, allowed: number <= writes - 2 ? Set(before) : ["accepted"], "\(number)")
      }
    }
    tally.report("deaths around the pin of a newer epoch, \(step)")
  }

  private func rotated() throws -> KeptFiles {
    let place = try TemporaryVault()
    try FaultCampaign.prepared().moved(to: place).put(into: place.folder)
    let vault = try place.unlocked(VaultOptions(pins: place.folder.appending("pins")))
    try vault.rotate()
    _ = try vault.lock()
    return try KeptFiles(place.folder)
  }
}
