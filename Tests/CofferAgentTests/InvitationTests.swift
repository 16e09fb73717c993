import CofferPlatform
import CofferTestSupport
import CofferVault
import Foundation
import Testing

@testable import CofferAgent

@Suite struct InvitationTests {
  private let name: ItemName
  init() throws { name = try ItemName(service: "app", account: "token") }

  /// An agent with a vault of epoch 2, and invitations: of the previous epoch, of its own, of a forked history's second and
  /// third epochs, and of another vault.
  private func held() throws -> (
    agent: TestAgent, first: Invitation, now: Invitation, fork: Invitation, later: Invitation, other: Invitation
  ) {
    let agent = try TestAgent()
    let vault = try agent.vault()
    try vault.set(form("hush"), for: name)
    let first = try vault.invitation()
    let copy = agent.folder.appending("copy.sqlite")
    _ = try LockedVault.open(agent.settings.vault, options: .withoutPins).backup(to: copy)
    let theirs = try LockedVault.open(.file(copy), options: .withoutPins).unlock(with: TestAgent.credentials())
    try theirs.rotate()
    let fork = try theirs.invitation()
    try theirs.rotate()
    try vault.rotate()
    let another = agent.folder.appending("another.sqlite")
    let other = try UnlockedVault.create(
      at: .file(another), with: TestAgent.credentials(), cost: .testing, options: .withoutPins
    ).invitation()
    return (agent, first, try vault.invitation(), fork, try theirs.invitation(), other)
  }

  private func asks(_ agent: TestAgent, _ invitations: [Invitation], known: [Invitation] = []) -> StoreError.Kind? {
    let client = AgentClient(
      folder: agent.settings.folder, vault: agent.settings.vault, options: VaultOptions(pins: nil, invitations: invitations),
      known: known)
    // Twice: the second time on the greeted connection.
    let first = kind { _ = try client.get(name) }
    #expect(kind { _ = try client.get(name) } == first)
    return first
  }

  @Test func `before each answer the agent checks the key against what the client was told of it`() throws {
    let (agent, first, now, fork, later, other) = try held()
    defer { agent.stop(); TestAgent.remove(agent.folder) }
    #expect(asks(agent, [first, now]) == nil)
    #expect(asks(agent, [fork]) == .forked && asks(agent, [now, fork]) == .forked)
    #expect(asks(agent, [later]) == .rolledBack)
    #expect(asks(agent, [other]) == .replaced && asks(agent, [now, other]) == .replaced)
    #expect(asks(agent, [], known: [other, now]) == nil)
    #expect(asks(agent, [now], known: [other, fork]) == .forked)
    let client = AgentClient(
      folder: agent.settings.folder, vault: agent.settings.vault, options: VaultOptions(pins: nil, invitations: [fork]))
    #expect(kind { try client.set(form("planted"), for: name) } == .forked)
    #expect(try agent.client().get(name)?.text == "hush")
  }

  @Test func `the agent unlocks nothing that the client's invitations or its own expectations refuse`() throws {
    let (agent, _, now, fork, _, other) = try held()
    defer { agent.stop(); TestAgent.remove(agent.folder) }
    try agent.client().lock()
    let client = AgentClient(
      folder: agent.settings.folder, vault: agent.settings.vault, options: VaultOptions(pins: nil, invitations: [fork]))
    #expect(kind { _ = try client.unlock(with: TestAgent.credentials()) } == .forked)
    #expect(try agent.client().status().unlocked == nil)
    func unlocks(_ options: VaultOptions, for client: Greeting) -> StoreError.Kind? {
      let settings = AgentSettings(folder: agent.settings.folder, vault: agent.settings.vault, options: options)
      let vault = AgentVault(settings)
      return kind { try vault.unlock(with: TestAgent.credentials(), client, UnlockTimes(), vault.asked) }
    }
    let place = agent.settings.vault.description
    #expect(unlocks(VaultOptions(pins: nil, expected: other.vault), for: Greeting(path: place)) == .replaced)
    #expect(unlocks(VaultOptions(pins: nil, expected: other.vault), for: Greeting(path: place, vault: now.vault)) == .replaced)
    #expect(unlocks(VaultOptions(pins: nil, leastGeneration: 1_000), for: Greeting(path: place)) == .rolledBack)
    #expect(unlocks(VaultOptions(pins: nil, invitations: [now]), for: Greeting(path: place, invitations: [now])) == nil)
  }

  @Test func `a greeting of more invitations than a vault may be given, or of one that is none, is refused`() throws {
    let (agent, _, now, _, _, _) = try held()
    defer { agent.stop(); TestAgent.remove(agent.folder) }
    #expect(asks(agent, Array(repeating: now, count: 64), known: Array(repeating: now, count: 64)) == nil)
    #expect(asks(agent, Array(repeating: now, count: 65)) == .damaged)
    #expect(asks(agent, [], known: Array(repeating: now, count: 65)) == .damaged)
  }

  @Test func `a place on a server is no place of an agent, and a literal is one`() throws {
    let folder = try TestAgent.newFolder()
    defer { TestAgent.remove(folder) }
    let settings = AgentSettings(folder: folder.appending("run"), vault: "mysql://db/team", options: .withoutPins)
    let vault = AgentVault(settings)
    #expect(
      kind { try vault.unlock(with: TestAgent.credentials(), Greeting(path: "mysql://…"), UnlockTimes(), vault.asked) }
        == .unsupported)
  }
}
