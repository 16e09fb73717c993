import CofferPlatform
import CofferStorage
import CofferTestSupport
import Foundation
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultFormat
@testable import CofferVaultRows

@Suite struct CopyCheckTests {
  private let world: MemberVault
  private let other: TemporaryVault
  init() throws {
    world = try MemberVault()
    other = try TemporaryVault()
  }

  private func copy(_ epoch: UInt64) throws -> UnlockedVault {
    try #require(world.files[Int(epoch) - 1].files["vault.sqlite"]).write(to: URL(fileURLWithPath: other.path.string))
    chmod(other.path.string, 0o600)
    return try other.unlock()
  }

  private func refusal(
    of copy: borrowing UnlockedVault, by vault: borrowing UnlockedVault, acceptingOlderKey: Bool = false
  ) throws -> StoreError.Kind? {
    let generation = try vault.status().generation
    var refusals: [StoreError.Kind?] = []
    do throws(StoreError) {
      try vault.checkCopy(copy, acceptingOlderKey: acceptingOlderKey)
      refusals.append(nil)
    } catch { refusals.append(error.kind) }
    for isTrial in [true, false] {
      do throws(StoreError) {
        _ = try vault.merge(copy, isTrial: isTrial, acceptingOlderKey: acceptingOlderKey)
        refusals.append(nil)
      } catch { refusals.append(error.kind) }
    }
    let refusal = refusals[0]
    #expect(refusals.allSatisfy { $0 == refusal })
    #expect(try refusal == nil || vault.status().generation == generation)
    return refusal
  }

  @Test(arguments: [4, 5, 9] as [UInt64], [true, false])
  func `a copy that a former member or a stranger forged is refused as a fork`(epoch: UInt64, byMember: Bool) throws {
    let vault = try world.place.unlock()
    _ = try copy(3).lock()
    let forged = try world.forged(epoch, byMember: byMember)
    try other.put(forged.header, under: forged.key, MemberVault.name, "forged")
    // With the vault's own secret: the key file's slot proves only the first key.
    let opened = kind { _ = try other.unlock() }
    guard byMember else {
      #expect(opened != nil)
      return
    }
    #expect(opened == nil)
    #expect(try refusal(of: other.unlock(), by: vault) == .forked)
    #expect(try refusal(of: other.unlock(), by: vault, acceptingOlderKey: true) == .forked)
    // Also by a recipient, who knows nothing from the copy alone.
    let options = VaultOptions(pins: nil, invitations: [world.invitation(MemberVault.removal)])
    let recipient = try LockedVault.open(world.place.path, options: options)
      .unlock(with: MemberVault.credentials(identity: world.identity))
    let unproven = try LockedVault.open(other.path).unlockCopy(with: MemberVault.credentials(identity: world.identity))
    #expect(try refusal(of: unproven, by: recipient) == .forked)
    #expect(text(try vault.get(MemberVault.name)) == "genuine")
  }

  @Test func `a copy under an older key is merged once somebody says so, and one under the same or a later key at once`() throws {
    let vault = try world.place.unlock()
    for epoch in 1..<MemberVault.removal {
      #expect(try refusal(of: copy(epoch), by: vault) == .rolledBack)
      #expect(try refusal(of: copy(epoch), by: vault, acceptingOlderKey: true) == nil)
    }
    #expect(try refusal(of: copy(MemberVault.removal), by: vault) == nil)
    #expect(try refusal(of: vault, by: copy(2)) == nil, "the vault's key comes from the copy's")
  }

  @Test func `of two copies that got new keys apart neither takes over the other's items`() throws {
    let vault = try world.place.unlock()
    let fork = try copy(MemberVault.removal)
    try fork.rotate()
    #expect(try refusal(of: fork, by: vault) == nil)
    try vault.rotate()
    #expect(try refusal(of: fork, by: vault) == .forked && refusal(of: vault, by: fork) == .forked)
  }

  @Test func `a vault of another id is taken as it is`() throws {
    let stranger = try TemporaryVault()
    let theirs = try stranger.create()
    try theirs.set(form("theirs"), for: ItemName(service: "x"))
    #expect(try refusal(of: theirs, by: world.place.unlock()) == nil)
  }
}
