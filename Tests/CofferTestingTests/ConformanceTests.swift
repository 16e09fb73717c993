import Coffer
import CofferValues
import CofferVault
import CofferStorage
import CofferTesting
import Foundation
import Testing

@Suite struct ConformanceTests {
  static let plainStore = StoreConformance<Plain>("DefaultsStore", abilities: .plain) {
    let home = try TestHome()
    let store = try home.openDefaults("app")
    return .init(store, reopen: { try home.openDefaults("app") }, close: { try store.close() })
  }

  static let vaultStore = StoreConformance<Vault>(
    "VaultStore", abilities: .vault,
    exceptions: [
      .replacing: "a label or attributes left empty keep those of before", .badNames: "an item may have the empty account",
    ]
  ) {
    let home = try TestHome()
    return .init(try home.makeVault(service: "app"), reopen: { try home.makeVault(service: "app") })
  }

  @Test(arguments: ConformanceCheck.allCases) func `the plain store conforms`(check: ConformanceCheck) async throws {
    try await Self.plainStore.run(check)
  }

  @Test(arguments: ConformanceCheck.allCases) func `the vault conforms`(check: ConformanceCheck) async throws {
    try await Self.vaultStore.run(check)
  }

  @Test(arguments: ConformanceCheck.allCases) func `memory conforms, for both routes`(check: ConformanceCheck) async throws {
    try await StoreConformance<Plain>("MemoryStore<Plain>") { MemoryStore<Plain>() }.run(check)
    try await StoreConformance<Vault>("MemoryStore<Vault>") { MemoryStore<Vault>() }.run(check)
  }

  @Test(arguments: ConformanceCheck.allCases) func `the mock conforms, for both routes`(check: ConformanceCheck) async throws {
    try await StoreConformance<Plain>("MockStore<Plain>") { MockStore<Plain>() }.run(check)
    try await StoreConformance<Vault>("MockStore<Vault>") { MockStore<Vault>() }.run(check)
  }

  @Test(arguments: ConformanceCheck.allCases) func `the cache conforms, for both routes`(check: ConformanceCheck) async throws {
    try await StoreConformance<Plain>("CacheStore<Plain>") { CacheStore<Plain>(limit: 10_000) }.run(check)
    try await StoreConformance<Vault>("CacheStore<Vault>") { CacheStore<Vault>(limit: 10_000) }.run(check)
  }

  @Test func `the whole suite runs in one call`() async throws {
    try await StoreConformance<Plain>("MemoryStore") { MemoryStore<Plain>() }.run()
  }
}

extension StoreConformance.Abilities {
  static var plain: Self {
    var abilities = Self()
    abilities.decides = false
    abilities.largestValue = 1 << 20
    return abilities
  }
  static var vault: Self {
    var abilities = Self()
    abilities.prepares = false
    abilities.largestValue = VaultItem.largestValue
    return abilities
  }
}
