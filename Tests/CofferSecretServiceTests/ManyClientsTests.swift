import CofferPlatform
import CofferTestSupport
import Foundation
import Testing

@testable import CofferSecretService

@Suite(.tags(.campaign, .process), .wholeRun) struct ManyClientsTests {
  private static func work(_ address: String, _ worker: Int, rounds: Int) throws {
    let client = try BusClient(address)
    let session = try client.openPlain()
    var kept: [Int: String] = [:]
    for round in 0..<rounds {
      let attributes = ["worker": "\(worker)", "round": "\(round)"]
      let path = try client.create("w", attributes, "secret \(worker) \(round)", session: session)
      #expect(try client.search(attributes) == [path])
      #expect(try client.secret(path, session: session).text == "secret \(worker) \(round)")
      switch round % 3 {
      case 0: try client.call(path, .item, "Delete")
      case 1:
        try client.call(path, .item, "SetSecret") { (message) throws(Refusal) in
          try BusClient.put("new \(worker) \(round)", session, message)
        }
        kept[round] = path
      default: kept[round] = path
      }
    }
    #expect(try client.search(["worker": "\(worker)"]) == kept.values.sorted())
    for (round, path) in kept {
      let expected = round % 3 == 1 ? "new \(worker) \(round)" : "secret \(worker) \(round)"
      #expect(try client.secret(path, session: session).text == expected)
    }
  }

  @Test func `many clients at once lose nothing and get nothing of others`() throws {
    // For any slow machine: each waits for all others.
    let service = try TestService(patience: .seconds(3600))
    let address = service.bus.address
    let (workers, rounds) = (Campaign.size(short: 8, long: 64), Campaign.size(short: 9, long: 250))
    let done = DispatchGroup()
    for worker in 0..<workers {
      done.enter()
      Thread.detachNewThread {
        do { try Self.work(address, worker, rounds: rounds) } catch { Issue.record(error) }
        done.leave()
      }
    }
    done.wait()
    let left = rounds - (rounds + 2) / 3
    #expect(try service.client.list(service: "secret-service:login").count == workers * left)
    print("clients of the Secret Service at once: \(workers), \(workers * left) items are left")
  }
}
