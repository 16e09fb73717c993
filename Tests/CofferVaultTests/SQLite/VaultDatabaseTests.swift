import CofferStorage
import Foundation
import SystemPackage
import Testing

@testable import CofferVault

@Suite struct VaultDatabaseTests {
  let fixture = try! VaultFixture()

  @Test func aNewVaultHasWhatItsCreatorPutIn() throws {
    try fixture.create(records: 5).close()
    let vault = try fixture.open()
    #expect(try vault.withHeader(.first) { [UInt8]($0) } == .repeating(1, count: 300))
    #expect(try vault.withHeader(.second) { [UInt8]($0) } == .repeating(1, count: 300))
    #expect(try vault.withState { [UInt8]($0) } == .repeating(2, count: 200))
    #expect(try vault.value(.index(4)) == .repeating(4, count: 272))
    #expect(try vault.value(.index(5)) == nil)
    #expect(vault.connection.usesWriteAheadLog)
  }
}
