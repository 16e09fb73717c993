import CofferMemory
import CofferPlatform
import CofferStorage
import CofferTestSupport
import Foundation
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

/// Anchors older than a removal cannot detect the removed member's vault; a newer one can.
@Suite struct StatedLimitTests {
  private let world: MemberVault
  init() throws { world = try MemberVault() }

  private var pins: FilePath { world.place.folder.appending("pins") }

  /// The removed member's vault: sealed to every slot, with all epoch secrets that the member knows.
  private func forge(_ epoch: UInt64) throws {
    let key = try EpochKey(world.vault, epoch)
    var draft = HeaderDraft(vault: world.vault, epoch: epoch)
    draft.slots = try world.headers[0].slots.map { try $0.sealed(key, mix: world.mixes[$0.id]) }
    draft.mixes = world.mixes
    draft.entries = world.keys.dropLast().map(\.entry)
    try world.put(draft.bytes(key), under: key)
  }

  private func answer(_ options: VaultOptions, identity: Bool) throws -> String {
    var found = ""
    let refusal = kind {
      let credentials = try identity ? MemberVault.credentials(identity: world.identity) : TemporaryVault.credentials()
      found = text(try LockedVault.open(world.place.path, options: options).unlock(with: credentials).get(MemberVault.name)) ?? ""
    }
    return refusal.map { "\($0)" } ?? found
  }

  private func file(_ epoch: UInt64) throws { try world.files[Int(epoch) - 1].put(into: world.place.folder) }

  /// The genuine vault is another of the same epoch or an older one, as the removed member chooses.
  @Test(arguments: [(4, "forked"), (9, "rolledBack")] as [(UInt64, String)])
  func `an older pin, slot or invitation follows a removed member, and then refuses the genuine vault`(
    _ epoch: UInt64, _ meeting: String
  ) throws {
    let older = world.invitation(MemberVault.removal - 1)
    for (identity, seesFirst, invitations) in [
      (true, true, [older]), (true, false, [older]), (false, true, []), (false, false, []),
    ] {
      let options = VaultOptions(pins: pins, invitations: invitations)
      if seesFirst {
        try file(MemberVault.removal - 1)
        #expect(try answer(options, identity: identity) == "genuine")
      }
      try forge(epoch)
      #expect(try answer(options, identity: identity) == "forged", "if this is refused, the stated limit is narrower: say so")
      try world.putBack()
      #expect(try answer(options, identity: identity) == meeting)
      try FileManager.default.removeItem(atPath: pins.string)
    }
  }

  /// The slot's earlier box opens with the same secret, and is in every old copy of the file.
  @Test func `a slot's mark that was renewed proves no more than the one before`() throws {
    let credentials = { Credentials(passphrase: try secret(MemberVault.passphrase)) }
    #expect(text(try LockedVault.open(world.place.path).unlock(with: credentials()).get(MemberVault.name)) == "genuine")
    try forge(MemberVault.removal)
    #expect(text(try LockedVault.open(world.place.path).unlock(with: credentials()).get(MemberVault.name)) == "forged")
  }

  @Test func `so does a process that has the vault open with the older key`() throws {
    try file(MemberVault.removal - 1)
    let vault = try world.place.unlock()
    #expect(text(try vault.get(MemberVault.name)) == "genuine")
    try forge(MemberVault.removal)
    #expect(text(try vault.get(MemberVault.name)) == "forged")
    try world.putBack()
    #expect(kind { _ = try vault.get(MemberVault.name) } == .tampered, "HB does not open under the key that is held")
  }

  @Test func `of an older anchor and a newer one both are asked`() throws {
    let (older, newer) = (world.invitation(MemberVault.removal - 1), world.invitation(MemberVault.removal))
    for epoch in [MemberVault.removal, MemberVault.removal + 1] {
      // An older pin, and a newer invitation.
      for identity in [false, true] {
        try file(MemberVault.removal - 1)
        #expect(try answer(VaultOptions(pins: pins, invitations: [older]), identity: identity) == "genuine")
        try forge(epoch)
        let pin = try KeptFiles(pins).files
        #expect(try answer(VaultOptions(pins: pins, invitations: [newer]), identity: identity) == "forked")
        #expect(try answer(VaultOptions(pins: pins, invitations: [older, newer]), identity: identity) == "forked")
        #expect(try KeptFiles(pins).files == pin)
        try world.putBack()
        // A newer pin, and an older invitation.
        #expect(try answer(VaultOptions(pins: pins, invitations: [newer]), identity: identity) == "genuine")
        try forge(epoch)
        #expect(try answer(VaultOptions(pins: pins, invitations: [older]), identity: identity) == "forked")
        try FileManager.default.removeItem(atPath: pins.string)
      }
    }
    try file(MemberVault.removal - 1)
    #expect(try answer(VaultOptions(pins: nil, invitations: [older, newer]), identity: true) == "rolledBack")
  }
}
