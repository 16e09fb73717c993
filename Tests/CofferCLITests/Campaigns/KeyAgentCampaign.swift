import Coffer
import CofferAgent
import CofferMemory
import CofferPlatform
import CofferStorage
import CofferTestSupport
import CofferVault
import Foundation
import SystemPackage
import Testing

@testable import CofferCLI

/// The agent as a process, with a key that many clients use, each through a connection of its own.
private final class SigningAgent {
  let home: Home
  let child: Child
  let blob: [UInt8]

  /// An unlocked agent. The first one of a home makes its key.
  init(in home: Home) throws {
    self.home = home
    child = try home.start(["agent", "run", "--idle", "10h", "--lifetime", "10h"]).child
    let client = Self.client(home)
    try eventually("the agent listens") { try client.isRunning() }
    var credentials = Credentials()
    credentials.keyFile = try Home.secret(Data(contentsOf: URL(filePath: home.path + "/key")))
    _ = try client.unlock(with: credentials)
    let metadata = ItemMetadata(attributes: ["coffer.use.ask": "never"])
    if let listed = try client.ask(Calls.keys, []).first {
      blob = listed.blob
    } else {
      let line = try client.ask(Calls.put, .newKey(ItemName(service: "a"), metadata))[0].split(separator: " ")
      blob = try [UInt8](#require(Data(base64Encoded: String(line[1]))))
    }
  }

  static func client(_ home: Home) -> AgentClient {
    let places = Places(home: FilePath(home.path))
    return AgentClient(folder: FilePath(home.path + "/run"), vault: places.vault, options: places.vaultOptions)
  }
  var client: AgentClient { Self.client(home) }

  /// A signature of a login as `user`.
  static func sign(_ user: String, _ blob: [UInt8], by client: AgentClient) throws {
    func string(_ bytes: [UInt8]) -> [UInt8] { withUnsafeBytes(of: UInt32(bytes.count).bigEndian) { Array($0) } + bytes }
    let words = [user, "ssh-connection", "publickey"].flatMap { string(Array($0.utf8)) }
    let data = string([UInt8](repeating: 1, count: 32)) + [50] + words + [1] + string(Array("ssh-ed25519".utf8)) + string(blob)
    let outcome = try client.ask(Calls.use, KeyUse(blob: blob, work: .sign(data, flags: 0), asker: UInt32(getpid())))
    guard case .done(let signature) = outcome.first, signature.bytes.count == 83 else { throw CancellationError() }
  }

  /// The newest rows, after a check of all.
  func rows(_ most: UInt64?) throws -> [UseRow] {
    try client.ask(Calls.uses, most).compactMap { if case .row(let row) = $0 { row } else { nil } }
  }

  func end() throws {
    kill(child.id, SIGKILL)
    _ = try child.wait()
  }

  /// Kilobytes of memory.
  func memory() throws -> Int {
    let status = try String(contentsOfFile: "/proc/\(child.id)/status", encoding: .utf8)
    let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") })
    return try #require(Int(line.filter(\.isNumber)))
  }
}

/// Promises of the agent about keys that hold for its process only.
@Suite(.serialized, .tags(.campaign, .kill, .process), .wholeRun) struct KeyAgentCampaign {
  @Test func `each signature that a client received has its row, whenever the agent is killed`() throws {
    var random = Random(campaign: "kills of an agent that signs")
    var (kills, signatures) = (0, 0)
    while kills < Campaign.size(short: 12, long: 2_000) {
      // The log keeps so many rows: a home each 50 kills.
      let home = try Home.withVault(), received = Collected<String>()
      for _ in 0..<Campaign.size(short: 12, long: 50) {
        let (agent, before, kill) = (try SigningAgent(in: home), received.all.count, kills)
        let (blob, clients) = (agent.blob, (0..<4).map { _ in agent.client })
        // A few die before their first use.
        let isEarly = kill % 8 == 7, pause = UInt32.random(in: 0..<100_000, using: &random)
        try Self.signing(clients, blob, kill, received) {
          if !isEarly { eventually("a client has a signature") { received.all.count > before } }
          usleep(pause)  // No event: the moment of the death is random.
          try agent.end()
        }
        let next = try SigningAgent(in: home), rows = try next.rows(nil).filter { $0.number > 0 }
        let users = Set(rows.map(\.detail)), missing = received.all.filter { !users.contains($0) }
        #expect(missing.isEmpty, "kill \(kill)")
        #expect(rows.map(\.number) == (0..<UInt64(rows.count)).map { $0 + 1 }, "kill \(kill)")
        try next.end()
        kills += 1
      }
      signatures += received.all.count
    }
    #expect(signatures > kills / 2)
    print("kills of an agent that signs: \(kills), with \(signatures) signatures, each with its row")
  }

  /// Runs `body` while clients sign, and until they have ended.
  private static func signing(
    _ clients: [AgentClient], _ blob: [UInt8], _ kill: Int, _ received: Collected<String>, _ body: () throws -> Void
  ) throws {
    let ended = DispatchGroup()
    for (number, client) in clients.enumerated() {
      ended.enter()
      Thread.detachNewThread {
        defer { ended.leave() }
        for use in 0... {
          let user = "\(kill) \(number) \(use)"
          // The agent's death ends it.
          do { try SigningAgent.sign(user, blob, by: client) } catch { return }
          received.add(user)
        }
      }
    }
    defer { ended.wait() }
    try body()
  }

  @Test func `64 clients at once lose no row, and the agent's memory stays`() throws {
    let home = try Home.withVault(), agent = try SigningAgent(in: home), blob = agent.blob
    defer { kill(agent.child.id, SIGKILL) }
    let (turns, uses) = (Campaign.size(short: 2, long: 10), Campaign.size(short: 5, long: 100))
    let clients = (0..<64).map { _ in agent.client }
    // The log's own first row.
    var (last, half) = (1 as UInt64, 0)
    for turn in 0..<turns {
      Campaign.concurrently(clients.count) { number in
        for use in 0..<uses { try SigningAgent.sign("\(turn) \(number) \(use)", blob, by: clients[number]) }
      }
      let rows = try agent.rows(UInt64(clients.count * uses))
      let made = (0..<clients.count).flatMap { number in (0..<uses).map { "\(turn) \(number) \($0)" } }
      #expect(Set(rows.map(\.detail)) == Set(made))
      #expect(rows.map(\.number) == rows.indices.map { last + UInt64($0) + 1 })
      last += UInt64(rows.count)
      if turn == turns / 2 - 1 { half = try agent.memory() }
    }
    let end = try agent.memory()
    #expect(last == UInt64(turns * uses * clients.count + 1))
    // As much as a leak of 256 bytes for each use.
    #expect(end < half + 8_192, "\(half) and \(end) KiB")
    print(
      "\(clients.count) clients with \(turns * uses) uses each: \(last) rows, \(half) KiB after half of them, \(end) at the end")
  }
}
