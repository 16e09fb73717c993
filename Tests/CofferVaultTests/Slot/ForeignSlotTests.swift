import CofferMemory
import CofferPlatform
import CofferStorage
import CofferTestSupport
import Foundation
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

@Suite struct ForeignSlotTests {
  private let place: TemporaryVault
  private let name = ItemName(sealed: "s", "a")

  init() throws { place = try TemporaryVault() }

  /// A vault with the key file's slot and foreign ones of these sizes; returns the foreign slots' secrets.
  private func made(_ sizes: [Int]) throws -> [[UInt8]] {
    let vault = try place.create()
    let (header, mix, bytes) = try vault.core.run { (vault) throws(StoreError) in
      (
        vault.view.header, vault.view.headerBody.withMix(0) { [UInt8]($0) },
        vault.view.slot.key.bytes.withUnsafeBytes { [UInt8]($0) }
      )
    }
    _ = try vault.lock()
    let key = try EpochKey(header.vault, 1, bytes)
    var draft = HeaderDraft(vault: header.vault, epoch: 1)
    let own = header.slots[0]
    draft.mixes[own.id] = mix
    draft.slots = [try own.sealed(key, mix: mix)]
    var secrets: [[UInt8]] = []
    for size in sizes {
      let secret = try SlotSecret.random()
      let frame = SlotFrame(id: .random(), kind: .foreign, cost: nil, salt: .zero, publicKey: secret.publicKey)
      let bytes = secret.withBoth { [UInt8]($0) }
      let empty = SealedSlot(
        frame: frame, own: CommittedBox(bytes: [UInt8](repeating: 9, count: size)), ephemeral: frame.publicKey,
        box: CommittedBox(bytes: [UInt8](repeating: 7, count: SealedSlot.boxBytes)))
      draft.mixes[frame.id] = Array(bytes.suffix(32))
      draft.slots.append(try empty.sealed(key, mix: Array(bytes.suffix(32))))
      secrets.append(bytes)
    }
    draft.slots.sort { $0.id < $1.id }
    draft.label = "chip"
    try place.put(draft.bytes(key), under: key, name, "a value")
    return secrets
  }

  private func unlocked() throws -> UnlockedVault {
    try place.unlock()
  }

  private func opens(_ secret: [UInt8], _ vault: borrowing UnlockedVault) throws -> Bool {
    let bytes = try CofferVaultTests.secret(secret)
    let slotSecret = SlotSecret(bytes)
    return try vault.core.refreshed { (vault) throws(StoreError) in
      let header = vault.view.header
      guard let slot = header.slots.first(where: { $0.frame.publicKey == slotSecret.publicKey }) else { return false }
      return try vault.view.checked { () throws(FormatError) in
        let key = try SlotSeal.openBox(slot, epoch: header.epoch, place: header.place, with: slotSecret)
        let keys = try Subkeys(of: key, vault: header.vault, epoch: header.epoch)
        _ = try header.openBody(keys, proving: [])
        return true
      }
    }
  }

  @Test func `are kept as they are, get every new key, and are listed, labelled and removed`() throws {
    let secrets = try made([0, 40, 3072])
    let vault = try unlocked()
    #expect(try text(vault.get(name)) == "a value")
    let foreign = try vault.status().slots.filter { $0.summary.kind == .foreign }
    #expect(
      foreign.count == 3 && foreign.allSatisfy { $0.label == "chip" && $0.summary.kind.description == "of another program" })
    for _ in 0..<2 {
      for secret in secrets { #expect(try opens(secret, vault)) }
      try vault.set(form("a value"), for: name)
      try vault.rotate()
      _ = try vault.verify()
    }
    try vault.relabelSlot(foreign[0].summary.id, to: "token")
    #expect(try vault.status().slots.map(\.label).sorted() == ["chip", "chip", "chip", "token"])
    try vault.removeSlot(foreign[1].summary.id)
    #expect(try vault.status().slots.count == 3)
    #expect(try secrets.count { try opens($0, vault) } == 2)
    _ = try vault.lock()
    #expect(try text(place.unlock().get(name)) == "a value")
  }

  @Test func `count with the slots of recipients`() throws {
    _ = try made([Int](repeating: 3, count: 240))
    let vault = try unlocked()
    #expect(kind { try vault.addSlot(Identity.recipient(of: Identity.generate())) } == .tooLarge(limit: 240))
    #expect(try vault.addSlot(Credentials(keyFile: KeyFile.generate())).kind == .keyFile)
  }

  @Test func `are no reason to remove the last slot that this program opens`() throws {
    _ = try made([40])
    let vault = try unlocked()
    let own = try #require(try vault.status().slots.first { $0.isInUse }?.summary.id)
    #expect(kind { try vault.removeSlot(own) } == .lastSlot)
    #expect(try text(place.unlock().get(name)) == "a value")
  }

  @Test func `more than 240 of them, or one with more of its own than one may have, are damage`() throws {
    _ = try made([Int](repeating: 3, count: 241))
    #expect(kind { _ = try unlocked() } == .damaged)
    let other = try ForeignSlotTests()
    _ = try other.made([3073])
    #expect(kind { _ = try other.unlocked() } == .damaged)
  }
}
