import CofferMemory
import CofferPlatform
import CofferStorage
import CofferTestSupport
import Foundation
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

/// Anchors older than a full header's whole list: their proof is sought from all anchors together.
@Suite struct TooOldAnchorTests {
  private let world: MemberVault
  private let proven: EpochKey
  private let forked: EpochKey
  init() throws {
    world = try MemberVault()
    proven = try EpochKey(world.vault, 1_500)
    forked = try EpochKey(world.vault, 1_500)
    let key = try EpochKey(world.vault, 2_000)
    var draft = HeaderDraft(vault: world.vault, epoch: 2_000)
    draft.slots = try world.header.slots.map { try $0.sealed(key, mix: world.mixes[$0.id]) }
    draft.mixes = world.mixes
    draft.entries = (976..<2_000).map { $0 == 1_500 ? proven.entry : .random($0) }
    try world.put(draft.bytes(key), under: key)
  }

  private func invitation(_ key: EpochKey) -> Invitation { Invitation(vault: VaultID(bytes: world.vault.bytes), key: key.mark) }

  private func unlock(_ options: VaultOptions) throws -> UnlockedVault {
    try LockedVault.open(world.place.path, options: options).unlock(with: TemporaryVault.credentials())
  }

  @Test func `an invitation too old to be proven passes where the vault was opened by an anchor that holds, and nowhere else`()
    throws
  {
    let pins = world.place.folder.appending("pins")
    let old = world.invitation(2)
    let error = try expect(.forked) { _ = try unlock(.withoutPins) }
    #expect(error.what.contains("more than 1024 times"))
    let invited = try unlock(VaultOptions(pins: pins, invitations: [invitation(proven)]))
    let pinned = try unlock(VaultOptions(pins: pins))
    for _ in 0..<2 {
      #expect(kind { try invited.check([old]) } == nil)
      #expect(kind { try pinned.check([old]) } == nil)
      #expect(kind { try pinned.check([old, invitation(proven)]) } == nil)
      #expect(kind { try pinned.check([old, invitation(forked)]) } == .forked)
      #expect(kind { try pinned.check([invitation(forked)]) } == .forked)
    }
    // A program without earlier checks answers the same.
    #expect(kind { _ = try unlock(VaultOptions(pins: pins, invitations: [old])) } == nil)
    #expect(kind { _ = try unlock(VaultOptions(pins: nil, invitations: [old])) } == .forked)
  }

  @Test func `what was proven of one header is proven anew of the next`() throws {
    let options = VaultOptions(pins: nil, invitations: [invitation(proven)])
    let vault = try unlock(options)
    try vault.check([invitation(proven)])
    let next = try EpochKey(world.vault, 2_001)
    var draft = HeaderDraft(vault: world.vault, epoch: 2_001)
    draft.slots = try world.header.slots.map { try $0.sealed(next, mix: world.mixes[$0.id]) }
    draft.mixes = world.mixes
    draft.entries = (977..<2_001).map { $0 == 1_500 ? forked.entry : .random($0) }
    try world.put(draft.bytes(next), under: next)
    #expect(kind { try vault.check([invitation(proven)]) } == .forked)
  }
}
