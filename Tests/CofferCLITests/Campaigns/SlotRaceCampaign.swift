import CofferTestSupport
import Foundation
import Synchronization
import Testing

@Suite(.tags(.campaign, .process), .wholeRun) struct SlotRaceCampaign {
  @Test(arguments: ["a file", "a server"])
  func `of two rotations and two new slots at once every slot opens the vault, or its command was refused`(kind: String) throws {
    let home = kind == "a file" ? try Home.withVault() : try Home.withSharedVault()
    let own = try #require(home.coffer("vault slot list").out.split(separator: "\t").first)
    nonisolated(unsafe) let shared = home
    var tally: [String: Int] = [:]
    for round in 0..<Campaign.size(short: 3, long: 500) {
      let answers = Mutex<[Int: Home.Answer]>([:])
      let key = { (worker: Int) in "\(home.path)/k\(round)-\(worker)" }
      let keys = [key(0), key(1)]
      Campaign.concurrently(4) { worker in
        let line = worker < 2 ? "vault slot add -q --new-key-file \(keys[worker])" : "vault rotate --yes -q"
        let answer = try shared.coffer(line)
        answers.withLock { $0[worker] = answer }
      }
      for (worker, answer) in answers.withLock({ $0 }) {
        tally["\(worker < 2 ? "add" : "rotate") \(answer.status)", default: 0] += 1
        #expect([0, 75].contains(answer.status), "\(answer.err)")
        guard worker < 2 else { continue }
        let opens = try access(keys[worker], F_OK) == 0 && home.coffer("vault list -q --key-file \(keys[worker])").status == 0
        #expect(opens == (answer.status == 0), "round \(round): \(answer.err)")
      }
      #expect(try home.coffer("vault rotate --only \(own) --yes -q").status == 0)
      for key in keys { unlink(key) }
    }
    print("slots and keys changed at once in \(kind):", tally.sorted { $0.key < $1.key })
  }
}
