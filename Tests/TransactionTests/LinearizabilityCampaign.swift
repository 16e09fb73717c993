import CofferTestSupport
import Foundation
import Testing

/// Processes that read and write both stores at once, directly and through an agent, and of which some are killed: there is an order of all
/// that they did, in which each operation has one moment between its call and its answer, and a transaction over both stores has one too.
///
/// `COFFER_HISTORIES` names a folder for the records.
@Suite(.serialized, .tags(.campaign, .kill, .process), .wholeRun)
struct LinearizabilityCampaign {
  /// Three processes that record what they do, each started again when it is gone, until there are `count` operations.
  private static func record(_ count: Int, overAgent: Bool, _ random: inout Random) throws -> (record: String, kills: Int) {
    let home = try Home()
    guard try home.run("transact", home.path, home.keyFile, "v0").status == 0 else { throw Peer.Failed(what: "no old values") }
    let agent = overAgent ? try Peer(home, ["agent", home.path, home.keyFile]) : nil
    defer { agent?.kill() }
    let file = home.path + "/record"
    var peers: [Peer] = [], kills = 0
    func operations() -> Int {
      guard let text = try? String(contentsOfFile: file, encoding: .utf8) else { return 0 }
      return text.split(separator: "\n").count / 2
    }
    func start() throws {
      // One of two goes through the agent, where there is one; the others open the vault.
      let isClient = overAgent && (peers.count + kills).isMultiple(of: 2)
      peers.append(
        try Peer(
          home,
          ["record", home.path, home.keyFile, file, "\(UInt64.random(in: 0 ... .max, using: &random))", "1000000"]
            + (isClient ? ["60000"] : [])))
    }
    while peers.count < 3 { try start() }
    while operations() < count {
      usleep(.random(in: 0...(overAgent ? 200_000 : 150_000), using: &random))
      peers.remove(at: .random(in: 0..<3, using: &random)).kill()
      kills += 1
      try start()
    }
    for peer in peers { peer.kill() }
    // The old values, and what is there when all have ended.
    let found = try Peer(home, ["serve", home.path, home.keyFile]).ask("read")?.split(separator: " ") ?? []
    guard found.count == 3 else { throw Peer.Failed(what: "the stores cannot be read: \(found)") }
    let record = try String(contentsOfFile: file, encoding: .utf8)
    let begin = "0 0 call w:theme=v0 w:token=v0 .\n1 0 ok w:theme=v0 w:token=v0 .\n"
    let end = "\(UInt64.max - 1) 0 call r:theme= r:token= .\n\(UInt64.max) 0 ok r:theme=\(found[1]) r:token=\(found[0]) .\n"
    return (begin + record + end, kills + peers.count)
  }

  @Test func `there is an order of all that processes did`() throws {
    var random = Random(campaign: "histories")
    let folder = ProcessInfo.processInfo.environment["COFFER_HISTORIES"]
    var (operations, pending, kills) = (0, 0, 0)
    let histories = Campaign.size(short: 2, long: 200)
    for number in 0..<histories {
      let (record, killed) = try Self.record(Campaign.size(short: 60, long: 1_000), overAgent: !number.isMultiple(of: 2), &random)
      if let folder { try record.write(toFile: "\(folder)/\(number).history", atomically: true, encoding: .utf8) }
      let history = try RecordedOperation.operations(in: record)
      let failures = Linearizability.failures(in: history)
      #expect(failures == [], "history \(number): no order of the operations on \(failures):\n\(record)")
      operations += history.count
      pending += history.count { $0.answer == nil }
      kills += killed
    }
    print("histories of both stores: \(histories), \(operations) operations, \(pending) without an answer, \(kills) kills")
    #expect(operations >= histories * Campaign.size(short: 60, long: 1_000))
    #expect(kills > 0)
  }
}
