import CofferTestSupport
import CofferMemory
import CofferPlatform
import CofferStorage
import Foundation
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultFormat
@testable import CofferVaultRows

/// Key changes that an open vault must follow, and those that it must not.
@Suite struct NewKeyTests {
  private static let memory = 64 << 20

  /// Replaces the vault at `place` and all its rows with an empty one under a new key, sealed to `slot` alone.
  private func replace(
    _ place: TemporaryVault, of vault: VaultSalt, epoch: UInt64, generation: UInt64,
    with slot: SealedSlot, mix: [UInt8], key: borrowing VaultKey
  ) throws {
    let keys = try Subkeys(of: key, vault: vault, epoch: epoch)
    let body = try HeaderBody(created: 1, rotated: 1, floor: .floor, labels: [""]) { _, out in out.copyBytes(from: mix) }
    let header = try VaultHeader(slots: [slot], body: body, keys: keys, lineage: .first).encoded()
    let state = VaultState(
      generation: generation, commit: .random(), root: DigestTree(emptyUnder: keys).root, counts: .none, time: 1, logSequence: 0,
      logHead: .zero)
    let sealed = state.sealed(epoch: epoch, header: PlainHash.digest(header), keys: keys)
    try place.attack(
      """
      UPDATE header SET bytes = x'\(Hex.text(header))'; UPDATE header_copy SET bytes = x'\(Hex.text(header))';
      UPDATE state SET bytes = x'\(Hex.text(sealed))'; DELETE FROM rec; DELETE FROM digest; DELETE FROM log;
      """)
  }

  private func header(at place: TemporaryVault) throws -> VaultHeader {
    let database = try VaultDatabase.open(place.path)
    return try database.read { () throws(StoreError) in try StoredParts.readHeader(database).header }
  }

  @Test(arguments: [1, 2] as [UInt64]) func `a recipient's slot does not follow a key that anyone could have made`(
    _ epoch: UInt64
  )
    throws
  {
    let place = try TemporaryVault()
    var identity = Credentials()
    identity.identity = try secret([UInt8](repeating: 7, count: 32))
    let vault = try UnlockedVault.create(at: place.path, with: identity)
    let name = try ItemName(service: "s")
    try vault.set(form("value"), for: name)

    // This uses only the public header.
    let old = try header(at: place)
    let forged = try VaultKey.random()
    let mix = [UInt8](repeating: 0, count: 32)
    let slot = try old.slots[0].resealed(forged, epoch: epoch, place: old.place, zeroMix: mix)
    try replace(place, of: old.vault, epoch: epoch, generation: 99, with: slot, mix: mix, key: forged)
    let refusal: StoreError.Kind = epoch == 1 ? .tampered : .forked
    #expect(kind { _ = try vault.get(name) } == refusal)
    #expect(kind { try vault.set(form("v"), for: name) } == refusal)
  }

  @Test func `an older header, and a backup, that anyone could have made for a recipient are never believed`() throws {
    let place = try TemporaryVault()
    func identity() throws -> Credentials {
      var credentials = Credentials()
      credentials.identity = try secret([UInt8](repeating: 7, count: 32))
      return credentials
    }
    let options = VaultOptions(pins: place.folder.appending("pins"))
    let vault = try UnlockedVault.create(at: place.path, with: identity(), options: options)
    let old = try header(at: place)
    for _ in 0..<2 { try vault.rotate() }
    let name = try ItemName(service: "s")
    try vault.set(form("genuine"), for: name)
    _ = try vault.lock()

    // This uses only the public header.
    let forged = try VaultKey.random()
    let mix = [UInt8](repeating: 0, count: 32)
    let slot = try old.slots[0].resealed(forged, epoch: 1, place: old.place, zeroMix: mix)
    let copy = try place.copy()
    try replace(copy, of: old.vault, epoch: 1, generation: 99, with: slot, mix: mix, key: forged)
    let refusal = kind {
      let backup = try RestorableBackup(copy.path, toRestoreAt: .file(place.path))
      _ = try backup.restore(with: identity(), options: options, acceptingOlderKey: true)
    }
    #expect(refusal == .forked)
    #expect(text(try LockedVault.open(place.path, options: options).unlock(with: identity()).get(name)) == "genuine")

    try replace(place, of: old.vault, epoch: 1, generation: 99, with: slot, mix: mix, key: forged)
    for isAccepted in [false, true] {
      let locked = try LockedVault.open(place.path, options: options)
      #expect(kind { _ = try locked.repair(with: identity(), rebuilding: true, acceptingOlderKey: isAccepted) } == .unproven)
    }
  }

  @Test func `a store whose slot is gone is locked and can be unlocked anew`() throws {
    let place = try TemporaryVault()
    let store = try VaultStore(service: "app", vault: place.create())
    try store.save(form("value"), for: "a")
    let old = try header(at: place)
    let key = try VaultKey.random()
    let inputs = try SlotInputs(TemporaryVault.credentials())
    let made = try NewSlot.make(.keyFile, for: inputs, cost: .testing, memory: Self.memory, place: old.place)
    let keys = try Subkeys(of: key, vault: old.vault, epoch: 2)
    let slot = try made.sealed(key, keys.epochMark, place: old.place)
    var mix = [UInt8](repeating: 0, count: 32)
    mix.withUnsafeMutableBytes { made.writeMix(to: $0) }
    try replace(place, of: old.vault, epoch: 2, generation: 99, with: slot, mix: mix, key: key)
    #expect(kind { _ = try store.load("a") } == .locked)
    #expect(!store.isUnlocked)
    try store.unlock(with: TemporaryVault.credentials())
    #expect(try store.load("a") == nil)
  }
}

extension SealedSlot {
  fileprivate func resealed(_ key: borrowing VaultKey, epoch: UInt64, place: SlotPlace, zeroMix: [UInt8]) throws -> SealedSlot {
    try zeroMix.span.bytes.withUnsafeBytes { (mix) throws(FormatError) in
      try resealed(key, epoch: epoch, place: place, mix: mix)
    }
  }
}
