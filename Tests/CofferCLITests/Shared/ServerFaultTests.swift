import CofferTestSupport
import Foundation
import Testing

@Suite(.tags(.root, .process), .wholeRun)
struct ServerFaultTests {
  @Test
  func `while packets are lost commands fail in their time with 75, and a watch goes on afterwards`() throws {
    let network = try TestNetwork.make()
    let server = try DatabaseServer.make(on: network)
    let home = try Home.withSharedVault(server)
    let place = server.placeOnNetwork(String(home.schema.dropFirst("coffer_".count)), "coffer_timeout=1")
    func far(_ words: String..., in input: String = "") throws -> (status: Int32, out: String, err: String) {
      try #require(try home.program(network.atClient + [Home.coffer] + words, in: input, with: ["COFFER_VAULT": place]))
    }
    try home.transcript("set token --domain coffer --quiet", in: "1")
    let said = try home.file("said")
    let watch = try Child(
      Array(network.atClient.dropFirst()) + [Home.coffer, "watch", "--quiet"],
      environment: home.environment.merging(["COFFER_VAULT": place]) { $1 },
      opening: [0: (said, O_RDONLY), 1: (said, O_WRONLY), 2: ("/dev/null", O_WRONLY)], program: network.atClient[0])
    let lines = { (try? String(contentsOfFile: said, encoding: .utf8))?.split(separator: "\n").map(String.init) ?? [] }
    var number = 0
    try eventually("it watches") {
      number += 1
      try home.transcript("set key\(number) --domain coffer --quiet", in: "1")
      return !lines().isEmpty
    }
    try network.lose(.bothWays)
    let start = ContinuousClock.now
    for answer in [try far("get", "token"), try far("set", "token", in: "2")] {
      #expect(answer.status == 75 && answer.err.contains("--vault mirror:FILE"), "\(answer)")
    }
    #expect(ContinuousClock.now - start < .seconds(60), "15 s is what a place waits that says nothing")
    let missed = (number + 1)...(number + 3)
    for key in missed { try home.transcript("set key\(key) --domain coffer --quiet", in: "1") }
    try network.mend()
    try eventually("commands work again") { try far("get", "token").status == 0 }
    let answer = try far("set", "token", "--quiet", in: "3")
    #expect(answer.status == 0, "\(answer)")
    try home.transcript("get token", out: "3")
    eventually("what was missed is told") { lines().contains { $0.hasPrefix("token: set in vault") } }
    for key in missed { #expect(lines().filter { $0.hasPrefix("key\(key): set in vault") }.count == 1, "\(lines())") }
    kill(watch.id, SIGTERM)
    #expect(try watch.wait() == 143)
  }

  @Test
  func `a server without room is 74, and what it has is read`() throws {
    let server = try DatabaseServer.make(disk: (.tables, 48 << 20))
    let disk = try #require(server.disk)
    let home = try Home.withSharedVault(server)
    try home.transcript("vault set a", in: "1")
    try disk.fill()
    let full = try home.coffer("vault set a", in: Data(repeating: 0x78, count: 200_000))
    #expect(full.status == 74 && full.err.contains("free some space on the server"), "\(full.err)")
    try home.transcript("vault get a", out: "1")
    try disk.free()
    try home.transcript("vault set a --quiet", in: "2")
    try home.transcript("vault get a", out: "2")
  }
}
