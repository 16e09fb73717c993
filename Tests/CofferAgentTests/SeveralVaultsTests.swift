import CofferPlatform
import CofferStorage
import CofferTestSupport
import CofferVault
import Foundation
import SystemPackage
import Testing

@testable import CofferAgent

@Suite struct SeveralVaultsTests {
  private let name: ItemName

  init() throws { name = try ItemName(service: "x") }

  /// A client of another vault next to that of `agent`, with an item of the vault's name.
  private func another(_ vault: String, of agent: TestAgent, unlocked: Bool = true) throws -> AgentClient {
    let place = VaultPlace.file(agent.folder.appending(vault))
    _ = try UnlockedVault.create(at: place, with: TestAgent.credentials(), cost: .testing, options: .withoutPins)
      .set(form(vault), for: name)
    let client = AgentClient(folder: agent.settings.folder, vault: place, options: .withoutPins)
    if unlocked { _ = try client.unlock(with: TestAgent.credentials()) }
    return client
  }

  @Test func `each vault answers for itself, and is locked by itself or with all`() throws {
    let agent = try TestAgent()
    defer { agent.stop(); TestAgent.remove(agent.folder) }
    let first = agent.client()
    try first.set(form("first"), for: name)
    let work = try another("work", of: agent, unlocked: false)
    #expect(kind { _ = try work.get(name) } == .locked)
    #expect(try work.status().unlocked == nil && first.status().unlocked != nil)
    let status = try work.unlock(with: TestAgent.credentials())
    #expect(status.vault == .file(agent.folder.appending("work")) && status.others.map(\.vault) == [agent.settings.vault])
    #expect(try first.get(name)?.text == "first" && work.get(name)?.text == "work")
    #expect(try first.status().others.map(\.id) == [status.unlocked])
    try work.lock()
    #expect(kind { _ = try work.get(name) } == .locked)
    #expect(try first.get(name)?.text == "first" && first.status().others.isEmpty)
    _ = try work.unlock(with: TestAgent.credentials())
    try AgentClient(folder: agent.settings.folder).lock()
    for client in [first, work] { #expect(kind { _ = try client.get(name) } == .locked) }
  }

  @Test func `where all are locked, one that is in use keeps no other's key, and answers nothing after the call that runs`()
    throws
  {
    let agent = try TestAgent()
    defer { agent.stop(); TestAgent.remove(agent.folder) }
    var vaults = [try agent.server.vaults.at("")]
    for name in ["second", "third"] {
      _ = try another(name, of: agent)
      vaults.append(try agent.server.vaults.at(agent.folder.appending(name).string))
    }
    let (first, second, third) = (vaults[0], vaults[1], vaults[2])
    let server = agent.server
    let isDone = DispatchSemaphore(value: 0)
    try first.use { (_) throws(StoreError) in
      try second.use { (_) throws(StoreError) in
        Thread.detachNewThread {
          server.lockVaults()
          isDone.signal()
        }
        eventually("the vault that nobody uses is locked") { !third.isUnlocked }
      }
      #expect(kind { try second.use { (_) throws(StoreError) in } } == .locked, "the call in the first is still running")
    }
    isDone.wait()
    #expect(vaults.allSatisfy { !$0.isUnlocked })
  }

  @Test func `the use of one vault does not keep another unlocked`() throws {
    let hand = HandClock()
    let agent = try TestAgent(clock: hand.clock)
    defer { agent.stop(); TestAgent.remove(agent.folder) }
    let work = try another("work", of: agent)
    for _ in 0..<3 {
      hand.pass(.seconds(25))
      _ = try work.get(name)
    }
    #expect(kind { _ = try agent.client().get(name) } == .locked)
    #expect(try work.get(name)?.text == "work")
  }

  @Test func `no more than eight are unlocked at once, and one that locks makes room`() throws {
    let agent = try TestAgent()
    defer { agent.stop(); TestAgent.remove(agent.folder) }
    let others = try (1..<AgentVaults.mostUnlocked).map { try another("v\($0)", of: agent) }
    let last = try another("last", of: agent, unlocked: false)
    #expect(kind { _ = try last.unlock(with: TestAgent.credentials()) } == .otherVault)
    for client in others { #expect(try client.get(name) != nil) }
    try others[3].lock()
    #expect(try last.unlock(with: TestAgent.credentials()).others.count == AgentVaults.mostUnlocked - 1)
    #expect(try last.get(name)?.text == "last")
  }

  @Test func `whoever names many places takes nobody's vault away`() throws {
    let agent = try TestAgent()
    defer { agent.stop(); TestAgent.remove(agent.folder) }
    let work = try another("work", of: agent)
    for number in 0..<3 * AgentVaults.mostPlaces {
      let client = AgentClient(folder: agent.settings.folder, vault: VaultPlace("/nowhere/\(number)"), options: .withoutPins)
      #expect(try client.status().unlocked == nil)
    }
    #expect(try work.get(name)?.text == "work")
    #expect(try agent.client().get(name) == nil)
  }

  @Test func `wrong secrets are slowed down whichever vault they are tried on`() throws {
    let hand = HandClock()
    let agent = try TestAgent(clock: hand.clock, unlocked: false)
    defer { agent.stop(); TestAgent.remove(agent.folder) }
    let work = try another("work", of: agent, unlocked: false)
    for client in [work, agent.client(), work, agent.client()] {
      #expect(kind { _ = try client.unlock(with: TestAgent.credentials("wrong")) } == .wrongSecret)
    }
    #expect(kind { _ = try work.unlock(with: TestAgent.credentials()) } == .busy)
  }
}
