import CofferPlatform
import CofferPostgres
import CofferStorage
import CofferTestSupport
import CofferVault
import Foundation
import Testing

@testable import CofferAgent

@Suite struct WatchTests {
  private static func next(_ client: AgentClient, after known: AgentMoment?) -> Collected<AgentMoment> {
    let told = Collected<AgentMoment>()
    Thread.detachNewThread { do { told.add(try client.moment(after: known)) } catch { Issue.record(error) } }
    return told
  }

  @Test func `who watches is told of a lock, an unlock and changes by anybody`() throws { try watch(TestAgent()) }

  @Test(.tags(.process), .defaultRun) func `who watches a vault on a server is told the same`() throws {
    let server = try DatabaseServer.shared
    PostgresVaults.use()
    try watch(TestAgent(place: VaultPlace(server.place())))
  }

  private func watch(_ agent: TestAgent) throws {
    defer { agent.stop(); TestAgent.remove(agent.folder) }
    let client = agent.client()
    let first = try client.moment(after: nil)
    #expect(first.vault != nil)
    let byClient = Self.next(client, after: first)
    try agent.client().set(form("x"), for: ItemName(service: "s", account: "a"))
    eventually("the change is told") { !byClient.all.isEmpty }
    let second = try #require(byClient.all.first)
    #expect(second.vault == first.vault && second.generation == first.generation + 1)
    let byOther = Self.next(client, after: second)
    try agent.vault().set(form("y"), for: ItemName(service: "s", account: "a"))
    eventually("another process's change is told") { !byOther.all.isEmpty }
    let third = try #require(byOther.all.first)
    #expect(third.generation > second.generation)
    let ofLock = Self.next(client, after: third)
    try agent.client().lock()
    eventually("the lock is told") { !ofLock.all.isEmpty }
    let locked = try #require(ofLock.all.first)
    #expect(locked.vault == nil && locked.since > third.since)
    let ofUnlock = Self.next(client, after: locked)
    _ = try agent.client().unlock(with: TestAgent.credentials())
    eventually("the unlock is told") { !ofUnlock.all.isEmpty }
    let unlocked = try #require(ofUnlock.all.first)
    #expect(unlocked.vault == first.vault && unlocked.since > locked.since)
    try agent.client().lock()
    _ = try agent.client().unlock(with: TestAgent.credentials())
    #expect(try client.moment(after: unlocked).since > unlocked.since, "a lock and an unlock in between are told, at once")
  }

  @Test func `watching and some questions are no use of the vault, and the end of the agent ends them`() throws {
    let clock = HandClock()
    let agent = try TestAgent(clock: clock.clock)
    defer { TestAgent.remove(agent.folder) }
    let client = agent.client()
    let moment = try client.moment(after: nil)
    clock.pass(.seconds(20))
    #expect(try client.moment(after: nil) == moment)
    var query = ItemQuery()
    query.isUse = false
    _ = try client.find(query)
    #expect(try client.status().idleLeft == .seconds(40))
    _ = try client.find(ItemQuery())
    #expect(try client.status().idleLeft == .seconds(60))
    let last = Collected<Bool>()
    Thread.detachNewThread {
      do throws(StoreError) { _ = try client.moment(after: moment) } catch {}
      last.add(true)
    }
    agent.stop()
    eventually("the question ends") { !last.all.isEmpty }
  }

  @Test func `a change in the name of another process is in the log under both`() throws {
    let agent = try TestAgent()
    defer { agent.stop(); TestAgent.remove(agent.folder) }
    let client = agent.client().on(Behalf(process: 4711, program: "gh\u{1b}[31m"))
    try client.set(form("x"), for: ItemName(service: "s", account: "a"))
    let entry = try #require(try agent.vault().log().last { $0.process == 4711 })
    #expect(entry.program.hasPrefix("gh[31m (by ") && entry.user == geteuid())
  }
}
