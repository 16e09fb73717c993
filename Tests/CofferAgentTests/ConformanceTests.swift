import CofferStorage
import CofferTesting
import CofferVault
import Testing

@testable import CofferAgent

/// The store over the agent passes the suite for all stores, with the exceptions of the vault behind it.
@Suite struct ConformanceTests {
  private final class Served: Sendable {
    nonisolated(unsafe) let agent: TestAgent
    init() throws { agent = try TestAgent() }
    deinit {
      agent.stop()
      TestAgent.remove(agent.folder)
    }
  }

  private static var abilities: StoreConformance<Vault>.Abilities {
    var abilities = StoreConformance<Vault>.Abilities()
    abilities.prepares = false
    abilities.tellsChanges = false
    abilities.largestValue = VaultItem.largestValue
    return abilities
  }

  static let exceptions: [ConformanceCheck: String] = [
    .replacing: "a label or attributes left empty keep those of before", .badNames: "an item may have the empty account",
  ]

  @Test(arguments: ConformanceCheck.allCases) func `the store over the agent conforms`(check: ConformanceCheck) async throws {
    let served = try Served()
    try await StoreConformance<Vault>("AgentStore", abilities: Self.abilities, exceptions: Self.exceptions) {
      .init(try served.agent.store(), reopen: { try served.agent.store() })
    }.run(check)
  }
}
