import CofferTestSupport
import CofferMemory
import CofferPlatform
import CofferStorage
import Foundation
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

@Suite struct PassphraseHashTests {
  struct File: Decodable {
    struct Case: Decodable {
      let passphrase, salt: HexBytes
      let opslimit: UInt32
      let memory_bytes: Int
      let hash: HexBytes
    }
    let cases: [Case]
  }

  @Test func `agrees with another implementation of Argon2id`() throws {
    let cases = try Vectors.fixture("argon2id.json", as: File.self).cases
    #expect(cases.count == 5)
    for one in cases {
      let salt = try #require(SlotSalt(one.salt.bytes))
      let cost = PassphraseCost(passes: one.opslimit, mebibytes: UInt32(one.memory_bytes >> 20))
      let hash = try one.passphrase.with { try PassphraseHash.derive($0, salt: salt, cost: cost, memory: 1 << 30).revealed }
      #expect(hash == one.hash.bytes)
    }
  }

  @Test(arguments: [(0, 64), (65, 8), (1, 7), (1, 2049), (64, 257), (9, 2048), (UInt32.max, UInt32.max)] as [(UInt32, UInt32)])
  func `refuses a cost out of bounds before it runs`(_ passes: UInt32, _ mebibytes: UInt32) {
    let cost = PassphraseCost(passes: passes, mebibytes: mebibytes)
    let error = #expect(throws: StoreError.self) { try PassphraseHash.check(cost, memory: .max) }
    #expect(error?.kind == .kdfMemory(needs: Int(mebibytes) << 20, has: .max))
  }

  @Test(arguments: [(1, 8), (64, 256), (8, 2048), (3, 256)] as [(UInt32, UInt32)])
  func `accepts every cost within bounds`(_ passes: UInt32, _ mebibytes: UInt32) throws {
    try PassphraseHash.check(PassphraseCost(passes: passes, mebibytes: mebibytes), memory: .max)
  }

  @Test func `refuses more memory than there is, and says both numbers`() {
    let error = #expect(throws: StoreError.self) { try PassphraseHash.check(.standard, memory: 100 << 20) }
    #expect(error?.kind == .kdfMemory(needs: 256 << 20, has: 100 << 20))
    #expect(error.map { "\($0)".contains("100 MiB") } == true)
  }
}
