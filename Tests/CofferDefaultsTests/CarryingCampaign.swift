import CofferTestSupport
import Testing

/// Journals that are taken away, and put back, under processes that die, fail and stop.
@Suite(.tags(.campaign), .wholeRun) struct CarryingCampaign {
  @Test
  func `whatever becomes of a journal and of those who use it, nothing that was acknowledged is lost, made up or brought back`()
    throws
  {
    // The short form takes the same histories in each run.
    var random = Campaign.isLong ? Random(campaign: "journals carried over") : Random(seed: UInt64(Campaign.seed) ?? 0)
    var counts: [String: Int] = [:]
    let histories = Campaign.size(short: 30, long: 5_000 / Campaign.share)
    var failed = 0
    for number in 0..<histories {
      let world = try CarryingWorld(seed: random.next())
      do { try world.run(40) } catch { Issue.record("history \(number): \(error)\n\(world.trace.joined(separator: "\n"))") }
      if !world.failures.isEmpty {
        failed += 1
        // The first few tell enough.
        if failed < 4 {
          Issue.record("history \(number):\n\(world.failures.joined(separator: "\n"))\n\(world.trace.joined(separator: "\n"))")
        }
      }
      counts.merge(world.counts) { $0 + $1 }
    }
    print("journals carried over: \(histories) histories, \(failed) wrong, \(counts.sorted { $0.key < $1.key })")
    #expect(
      ["deaths", "failures", "stops", "meddled", "put back", "put back after it was carried over", "rewritten", "carried"]
        .allSatisfy { counts[$0, default: 0] > 0 })
  }
}
