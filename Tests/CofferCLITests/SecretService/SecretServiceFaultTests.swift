import CofferTestSupport
import Foundation
import Testing

@Suite(.tags(.campaign, .kill, .process), .wholeRun) struct SecretServiceFaultTests {
  private static let names = ["vault.sqlite", "vault.sqlite-wal", "vault.sqlite-shm"]

  private static func store(_ name: String, _ service: SecretServiceHome) throws {
    let words = ["secret-tool", "store", "--label=\(name)", "n", name]
    let stored = try service.program(words, in: "secret \(name)")
    #expect(stored.status == 0, "\(stored.err)")
  }

  private static func lookup(_ name: String, _ service: SecretServiceHome) throws -> (status: Int32, out: String, err: String) {
    try service.program(["secret-tool", "lookup", "n", name])
  }

  private static func agent(_ home: Home) throws -> Int32 {
    let status = try JSONSerialization.jsonObject(with: home.coffer("status --agent --json").bytes) as? [String: Any]
    return try #require(status?["process"] as? Int32)
  }

  @Test func `the vault gets a new key, and programs go on`() throws {
    let service = try SecretServiceHome()
    try Self.store("a", service)
    let rotated = try service.home.coffer("vault rotate --yes --key-file \(service.home.path)/key")
    #expect(rotated.status == 0, "\(rotated.err)")
    #expect(try Self.lookup("a", service).out == "secret a")
    try Self.store("b", service)
    #expect(try Self.lookup("b", service).out == "secret b")
  }

  @Test func `a backup is restored, and programs find what it holds`() throws {
    let service = try SecretServiceHome()
    try Self.store("old", service)
    let home = service.home
    try home.transcript("backup \(home.path)/backup --quiet")
    try Self.store("new", service)
    let restored = try home.coffer("restore \(home.path)/backup --key-file \(home.path)/key")
    #expect(restored.status == 0, "\(restored.err)")
    #expect(try Self.lookup("old", service).out == "secret old")
    let none = try Self.lookup("new", service)
    #expect(none.status == 1 && none.out.isEmpty && none.err.isEmpty, "\(none.err)")
    try Self.store("newer", service)
    #expect(try Self.lookup("newer", service).out == "secret newer")
  }

  @Test func `a vault that is rolled back is refused with that word, and is never empty`() throws {
    let service = try SecretServiceHome()
    try Self.store("old", service)
    let home = service.home
    _ = try home.coffer("agent stop")
    func copy(_ from: String, _ to: String) throws {
      try FileManager.default.createDirectory(atPath: "\(home.path)/\(to)", withIntermediateDirectories: true)
      for name in Self.names {
        unlink("\(home.path)/\(to)/\(name)")
        guard home.exists("\(from)/\(name)") else { continue }
        try FileManager.default.copyItem(atPath: "\(home.path)/\(from)/\(name)", toPath: "\(home.path)/\(to)/\(name)")
      }
    }
    try copy("data", "before")
    try Self.store("new", service)
    try copy("data", "after")
    try copy("before", "data")
    for _ in 0..<2 {
      let refused = try Self.lookup("old", service)
      #expect(refused.status == 1 && refused.out.isEmpty && refused.err.contains("rolled back"), "\(refused.err)")
      let stored = try service.program(["secret-tool", "store", "--label=x", "n", "x"], in: "x")
      #expect(stored.status == 1 && stored.err.contains("rolled back"), "\(stored.err)")
    }
    try copy("after", "data")
    #expect(try Self.lookup("new", service).out == "secret new")
  }

  @Test func `the bus is started again, and the service with it by who asks`() throws {
    let service = try SecretServiceHome(starts: false)
    let home = service.home
    try home.transcript("secret-service install --quiet")
    try service.startBus()
    try Self.store("a", service)
    let first = try #require(try service.process())
    try service.startBus()
    #expect(try Self.lookup("a", service).out == "secret a")
    #expect(try service.process() != first)
    eventually("the service of the old bus ends") { hasEnded(first) }
  }

  @Test func `the agent is killed while it is asked, and nothing that was stored is lost`() throws {
    let service = try SecretServiceHome()
    try Self.store("first", service)
    let home = service.home
    var stored: [String] = ["first"]
    for round in 0..<Campaign.size(short: 3, long: 300) {
      let agent = try Self.agent(home)
      let delay = UInt32(round % 12) * 1000
      // In every third round it has the request when it dies.
      if round % 3 == 2 { kill(agent, SIGSTOP) }
      let killer = Thread {
        usleep(5000 + delay)  // No event: any moment.
        kill(agent, SIGKILL)
      }
      killer.start()
      let answer = try service.program(["secret-tool", "store", "--label=x", "n", "\(round)"], in: "secret \(round)")
      // Without an answer the client does not know whether the change was made.
      if answer.status == 0 { stored.append("\(round)") } else { #expect(!answer.err.isEmpty) }
      eventually("the agent is gone") { hasEnded(agent) }
      let name = stored.randomElement() ?? "first"
      let found = try Self.lookup(name, service)
      #expect(found.out == "secret \(name)", "\(found.err)")
    }
    for name in stored {
      let found = try Self.lookup(name, service)
      #expect(found.out == "secret \(name)", "\(found.err)")
    }
    print("the agent was killed while it was asked; \(stored.count) stored secrets are there")
  }

  @Test func `an agent that is killed with a question to read in its hands is asked again`() throws {
    let service = try SecretServiceHome()
    try Self.store("a", service)
    let agent = try Self.agent(service.home)
    kill(agent, SIGSTOP)
    let killer = Thread {
      usleep(150_000)  // No event: a stopped process does not tell that it was asked.
      kill(agent, SIGKILL)
    }
    killer.start()
    let found = try Self.lookup("a", service)
    #expect(found.out == "secret a", "\(found.err)")
  }
}
