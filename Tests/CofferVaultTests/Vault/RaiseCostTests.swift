import CofferTestSupport
import CofferMemory
import CofferStorage
import Foundation
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

@Suite struct RaiseCostTests {
  static let raised = PassphraseCost(passes: 2, mebibytes: 9)
  let name: ItemName
  init() throws { name = try ItemName(service: "svc") }

  private func credentials(_ keyFile: Bool = false) throws -> Credentials {
    var credentials = Credentials(passphrase: try secret("correct horse"))
    if keyFile { credentials.keyFile = try secret([UInt8](repeating: 0x50, count: 99)) }
    return credentials
  }

  private func unlock(_ place: TemporaryVault, _ keyFile: Bool = false, least: PassphraseCost? = nil) throws -> UnlockedVault {
    try LockedVault.open(place.path, options: VaultOptions(pins: nil, leastCost: least)).unlock(with: credentials(keyFile))
  }

  private func cost(_ place: TemporaryVault) throws -> PassphraseCost? {
    try LockedVault.open(place.path).slots.first.map { PassphraseCost(passes: $0.passes, mebibytes: $0.mebibytes) }
  }

  @Test(arguments: [false, true]) func `a slot below this machine's policy is raised by the first write, and by no read`(
    keyFile: Bool
  ) throws {
    let place = try TemporaryVault()
    _ = try UnlockedVault.create(at: place.path, with: credentials(keyFile), cost: .testing, label: "mine").lock()
    let before = try #require(Data(hex: place.hex("SELECT hex(bytes) FROM header")))
    let other = try unlock(place, keyFile)
    let vault = try unlock(place, keyFile, least: Self.raised)
    _ = try (vault.list(), vault.get(name), vault.verify())
    #expect(try cost(place) == .testing)
    try vault.set(form("1"), for: name)
    #expect(try cost(place) == Self.raised)
    #expect(try vault.status().slots.map(\.label) == ["mine"] && vault.status().epoch == 1)
    #expect(try vault.log().map(\.event) == [.vaultCreated, .unlocked, .itemSet, .slotChanged, .policyChanged])
    #expect(text(try other.get(name)) == "1")
    try other.set(form("2"), for: name)
    #expect(text(try unlock(place, keyFile).get(name)) == "2")
    #expect(kind { try vault.addSlot(Credentials(passphrase: secret("p")), cost: .testing) } == .unfitSecret)
    #expect(try !vault.status().oldBytesRemain)
    let file = try Data(contentsOf: URL(fileURLWithPath: place.path.string))
    #expect(file.range(of: before.suffix(64)) == nil)
  }

  @Test func `a slot of another passphrase is raised when it is used`() throws {
    let place = try TemporaryVault()
    let made = try UnlockedVault.create(at: place.path, with: credentials(), cost: .testing)
    try made.addSlot(Credentials(passphrase: secret("other")), cost: .testing)
    _ = try made.lock()
    try unlock(place, least: Self.raised).set(form("1"), for: name)
    let costs = try LockedVault.open(place.path).slots.map(\.mebibytes).sorted()
    #expect(costs == [8, 9])
    let other = try LockedVault.open(place.path).unlock(with: Credentials(passphrase: secret("other")))
    try other.remove(name)
    #expect(try LockedVault.open(place.path).slots.map(\.mebibytes) == [9, 9])
  }

  @Test func `a slot that costs enough, or takes no passphrase, stays as it is`() throws {
    let place = try TemporaryVault()
    _ = try UnlockedVault.create(at: place.path, with: credentials(), cost: Self.raised).lock()
    let before = try place.hex("SELECT hex(bytes) FROM header")
    try unlock(place, least: Self.raised).set(form("1"), for: name)
    try unlock(place, least: .testing).set(form("2"), for: name)
    #expect(try place.hex("SELECT hex(bytes) FROM header") == before)
    let keyed = try TemporaryVault()
    _ = try keyed.create().lock()
    let options = VaultOptions(pins: nil, leastCost: .standard)
    try LockedVault.open(keyed.path, options: options).unlock(with: TemporaryVault.credentials()).set(form("1"), for: name)
    #expect(try keyed.unlock().log().map(\.event) == [.vaultCreated, .unlocked, .itemSet])
  }
}
