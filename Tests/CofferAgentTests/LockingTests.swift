import CofferTestSupport
import CofferPlatform
import CofferStorage
import CofferVault
import Foundation
import SystemPackage
import Testing

@testable import CofferAgent

@Suite struct LockingTests {
  private func get(_ agent: TestAgent) -> StoreError.Kind? {
    kind { _ = try agent.client().get(ItemName(service: "x")) }
  }

  @Test func `nothing is answered before the unlock and after the lock`() throws {
    let agent = try TestAgent(unlocked: false)
    defer { agent.stop(); TestAgent.remove(agent.folder) }
    let store = try agent.store()
    #expect(get(agent) == .locked)
    #expect(kind { _ = try store.names() } == .locked)
    #expect(kind { try store.save(form("v"), for: "a") } == .locked)
    #expect(try agent.client().unlock(with: TestAgent.credentials()).unlocked != nil)
    #expect(get(agent) == nil)
    try agent.client().lock()
    #expect(get(agent) == .locked)
    agent.server.lockVaults()
    #expect(get(agent) == .locked)
  }

  @Test func `it locks when nobody uses it, when its time is over, and when the machine was suspended`() throws {
    let hand = HandClock()
    let agent = try TestAgent(clock: hand.clock)
    defer { agent.stop(); TestAgent.remove(agent.folder) }
    func unlock() throws { _ = try agent.client().unlock(with: TestAgent.credentials()) }
    hand.pass(.seconds(59))
    #expect(get(agent) == nil)
    hand.pass(.seconds(61))
    #expect(get(agent) == .locked)
    #expect(try agent.client().status().whyLocked.contains("it was not used for"))
    try unlock()
    for _ in 0..<11 {
      hand.pass(.seconds(50))
      #expect(get(agent) == nil)
    }
    hand.pass(.seconds(50))
    #expect(get(agent) == .locked)
    #expect(try agent.client().status().whyLocked.contains("lifetime of 10 min ended"))
    try unlock()
    hand.pass(.seconds(2), suspended: true)
    #expect(get(agent) == .locked)
    #expect(try agent.client().status().whyLocked.contains("suspended"))
  }

  @Test func `an unlock's own times hold until the vault is locked, then the agent's do again`() throws {
    let hand = HandClock()
    let agent = try TestAgent(clock: hand.clock)
    defer { agent.stop(); TestAgent.remove(agent.folder) }
    let client = agent.client()
    let status = try client.unlock(with: TestAgent.credentials(), idle: .seconds(5), lifetime: .seconds(8))
    #expect(status.idle == .seconds(5) && status.lifetime == .seconds(8))
    hand.pass(.seconds(4))
    #expect(get(agent) == nil)
    hand.pass(.seconds(4))
    #expect(get(agent) == .locked)
    #expect(try client.status().whyLocked == "its lifetime of 8 s ended")
    // Less than a second is rounded up to one, and does not mean the agent's default.
    #expect(try client.unlock(with: TestAgent.credentials(), idle: .milliseconds(1)).idle == .seconds(1))
    #expect(try client.unlock(with: TestAgent.credentials()).idle == .seconds(60))
    hand.pass(.seconds(59))
    #expect(get(agent) == nil)
    hand.pass(.seconds(60))
    #expect(get(agent) == .locked)
    #expect(try client.status().idle == .seconds(60))
  }

  @Test func `asking about the agent is no use of the vault`() throws {
    let hand = HandClock()
    let agent = try TestAgent(clock: hand.clock)
    defer { agent.stop(); TestAgent.remove(agent.folder) }
    for _ in 0..<3 {
      hand.pass(.seconds(25))
      _ = try agent.client().status()
    }
    #expect(get(agent) == .locked)
  }

  @Test func `wrong secrets are slowed down after the third, and the right one ends that`() throws {
    let hand = HandClock()
    let agent = try TestAgent(clock: hand.clock, unlocked: false)
    defer { agent.stop(); TestAgent.remove(agent.folder) }
    func unlock(_ text: String) -> StoreError.Kind? { kind { _ = try agent.client().unlock(with: TestAgent.credentials(text)) } }
    for _ in 0..<4 { #expect(unlock("wrong") == .wrongSecret) }
    #expect(unlock("correct horse") == .busy)
    hand.pass(.seconds(3))
    #expect(unlock("wrong") == .wrongSecret)
    hand.pass(.seconds(3))
    #expect(unlock("wrong") == .busy)
    hand.pass(.seconds(3))
    #expect(unlock("correct horse") == nil)
    #expect(unlock("wrong") == .wrongSecret)
  }

  @Test func `a rotation elsewhere is followed, and a file put in the vault's place is not`() throws {
    let agent = try TestAgent()
    defer { agent.stop(); TestAgent.remove(agent.folder) }
    let name = try ItemName(service: "x")
    try agent.client().set(form("v"), for: name)
    try agent.vault().rotate()
    #expect(try agent.client().get(name)?.text == "v")
    let other = agent.folder.appending("other.sqlite")
    _ = try UnlockedVault.create(at: .file(other), with: TestAgent.credentials(), cost: .testing, options: .withoutPins)
    #expect(rename(other.string, agent.settings.vault.description) == 0)
    #expect(get(agent) == .locked)
    #expect(try agent.client().status().whyLocked.contains("moved or replaced"))
  }

  @Test func `the vault that a client expects is the one that it gets`() throws {
    let agent = try TestAgent()
    defer { agent.stop(); TestAgent.remove(agent.folder) }
    let name = try ItemName(service: "x")
    let id = try #require(try agent.client().status().unlocked)
    let generation = try agent.vault().status().generation
    #expect(try agent.client(VaultOptions(pins: nil, expected: id, leastGeneration: generation)).get(name) == nil)
    #expect(kind { _ = try agent.client(VaultOptions(pins: nil, leastGeneration: generation + 9)).get(name) } == .rolledBack)
    let other = VaultID("00112233445566778899aabbccddeeff")
    #expect(kind { _ = try agent.client(VaultOptions(pins: nil, expected: other)).get(name) } == .replaced)
    #expect(kind { try agent.client(VaultOptions(pins: nil, expected: other)).set(form("v"), for: name) } == .replaced)
    #expect(try agent.client().item(name) == nil)
    let elsewhere = AgentClient(folder: agent.settings.folder, vault: "vault.sqlite", options: .withoutPins)
    #expect(kind { _ = try elsewhere.get(name) } == .otherVault)
  }

  @Test func `the vault that a client expects is looked at with each question, and not in the greeting alone`() throws {
    let agent = try TestAgent(unlocked: false)
    defer { agent.stop(); TestAgent.remove(agent.folder) }
    let name = try ItemName(service: "x")
    let id = try LockedVault.open(agent.settings.vault, options: .withoutPins).id
    let client = agent.client(VaultOptions(pins: nil, expected: id))
    #expect(kind { _ = try client.get(name) } == .locked)
    let other = agent.folder.appending("other.sqlite")
    _ = try UnlockedVault.create(at: .file(other), with: TestAgent.credentials(), cost: .testing, options: .withoutPins)
    #expect(rename(other.string, agent.settings.vault.description) == 0)
    #expect(try agent.client().unlock(with: TestAgent.credentials()).unlocked != id)
    #expect(kind { _ = try client.get(name) } == .replaced)
    #expect(kind { try client.set(form("v"), for: name) } == .replaced)
    #expect(kind { _ = try client.status() } == .replaced)
    #expect(kind { _ = try client.moment(after: nil) } == .replaced)
    #expect(try agent.client().item(name) == nil)
  }
}
