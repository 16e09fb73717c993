import Foundation
import CofferTestSupport
import Testing

/// Processes write both stores at once, and some are killed within 20 ms, at random places. Short by default; with
/// `COFFER_LONG_TESTS` 5 000 kills of the writers and 500 of their agent.
@Suite(.tags(.campaign, .kill, .process), .wholeRun)
struct RandomDeathCampaign {
  private final class Crowd {
    let home: Home
    let isOverAgent: Bool
    private(set) var agent: Peer?
    private(set) var writers: [Peer?] = [nil, nil, nil]
    private var round = 0

    init(isOverAgent: Bool) throws {
      home = try Home()
      self.isOverAgent = isOverAgent
      #expect(try home.run("transact", home.path, home.keyFile, "v0").status == 0)
    }

    func begin() throws {
      if isOverAgent, agent == nil { agent = try Peer(home, ["agent", home.path, home.keyFile]) }
      round += 1
      for (number, writer) in writers.enumerated() {
        let peer = try writer ?? Peer(home, ["serve", home.path, home.keyFile] + (isOverAgent ? ["60000"] : []))
        writers[number] = peer
        peer.tell("transact v\(round)-\(number)")
      }
    }

    func killAgent() {
      agent?.kill()
      agent = nil
    }

    func kill(_ victims: some Sequence<Int>) {
      for victim in victims { writers[victim]?.signal(SIGKILL) }
      for victim in victims {
        writers[victim]?.wait()
        writers[victim] = nil
      }
    }

    /// Lets the living end their transactions, and returns their answers: only unknown outcomes are errors.
    func answers() -> [String] { writers.compactMap { $0?.hear() } }

    func found() throws -> String? { try Peer(home, ["serve", home.path, home.keyFile]).ask("read") }
  }

  private struct Counts {
    var rounds = 0, kills = 0, answers: [String: Int] = [:]
    var torn: [String] = []

    mutating func judge(_ found: String?) {
      let words = found?.split(separator: " ") ?? []
      if words.count != 3 || Set(words).count != 1 { torn.append("round \(rounds): \(found ?? "nothing")") }
    }

    mutating func note(_ answers: [String]) {
      for answer in answers { self.answers[answer.split(separator: ":").first.map(String.init) ?? answer, default: 0] += 1 }
    }
  }

  @Test func `kills of one to three writers at once tear nothing`() throws {
    var crowd = try Crowd(isOverAgent: false)
    var (counts, random) = (Counts(), Random(campaign: "random kills of writers"))
    while counts.kills < (Campaign.isLong ? 5000 : 6) {
      // A vault remembers at most 256 transactions dropped within a minute.
      if counts.rounds % 100 == 99 { crowd = try Crowd(isOverAgent: false) }
      try crowd.begin()
      let victims = [0, 1, 2].shuffled(using: &random).prefix(.random(in: 1...3, using: &random))
      usleep(.random(in: 0...20_000, using: &random))  // No event: any moment.
      for victim in victims {
        crowd.writers[victim]?.signal(SIGKILL)
        usleep(.random(in: 0...7_000, using: &random))  // No event: any moment.
      }
      crowd.kill(victims)
      counts.note(crowd.answers())
      counts.rounds += 1
      counts.kills += victims.count
      counts.judge(try crowd.found())
    }
    print("random kills of writers: \(counts)")
    #expect(counts.torn == [])
  }

  @Test func `kills of the agent under its clients tear nothing`() throws {
    var crowd = try Crowd(isOverAgent: true)
    var (counts, random) = (Counts(), Random(campaign: "random kills of an agent"))
    while counts.kills < (Campaign.isLong ? 500 : 4) {
      if counts.rounds % 100 == 99 { crowd = try Crowd(isOverAgent: true) }
      try crowd.begin()
      usleep(.random(in: 0...30_000, using: &random))
      crowd.killAgent()
      // In every third round a client dies too, which could settle at once.
      if counts.rounds % 3 == 2 { crowd.kill([0]) }
      counts.note(crowd.answers())
      counts.rounds += 1
      counts.kills += 1
      counts.judge(try crowd.found())
    }
    print("random kills of an agent: \(counts)")
    #expect(counts.torn == [])
    #expect(counts.answers.keys.allSatisfy { !$0.hasPrefix("error") || Self.agentIsGone.contains($0) }, "\(counts.answers)")
  }

  /// A client's possible answers about a killed agent: it was not asked, or it did not answer.
  private static let agentIsGone: Set<String> = [
    "error locked", "error noAgent", "error busy", "error pending", "error outcomeUnknown",
  ]
}
