import CofferMemory
import CofferPlatform
import CofferStorage
import CofferTestSupport
import Foundation
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

/// A vault with the most slots, longest labels and most epochs that a header can have.
@Suite(.tags(.process), .wholeRun)
struct LargestHeaderTests {
  private static let name = ItemName(sealed: "svc", "target")
  private static let epoch: UInt64 = 2_001

  private func made() throws -> (place: TemporaryVault, key: EpochKey, oldest: LineageEntry) {
    let place = try TemporaryVault()
    let vault = try place.create()
    let (header, mix) = try vault.core.run { (vault) throws(StoreError) in
      (vault.view.header, vault.view.headerBody.withMix(0) { [UInt8]($0) })
    }
    _ = try vault.lock()
    let key = try EpochKey(header.vault, Self.epoch)
    var draft = HeaderDraft(vault: header.vault, epoch: Self.epoch)
    draft.label = String(repeating: "x", count: HeaderBody.longestLabel)
    draft.mixes = [header.slots[0].id: mix]
    draft.slots = [try header.slots[0].sealed(key, mix: mix)]
    for _ in 1..<VaultHeader.mostOwned { draft.slots.append(try Self.owned(key)) }
    let foreign = VaultHeader.mostOthers / 2
    for _ in 0..<foreign { draft.slots.append(try Self.foreign(key)) }
    let theirs = try Identity.recipient(of: Identity.generate()).key
    for number in foreign..<VaultHeader.mostOthers { draft.slots.append(try Self.recipient(number, theirs)) }
    draft.slots.sort { $0.id < $1.id }
    draft.entries = ((Self.epoch - UInt64(Lineage.most))..<Self.epoch).map { .random($0) }
    try place.put(draft.bytes(key), under: key, Self.name, "old plaintext")
    // The slot's own mark is older than the list: it needs the user's consent.
    #expect(kind { _ = try place.unlock() } == .forked)
    _ = try LockedVault.open(place.path, options: options(place)).unlockAcceptingPin(with: TemporaryVault.credentials()).lock()
    return (place, key, draft.entries[0])
  }

  private func options(_ place: TemporaryVault) -> VaultOptions { VaultOptions(pins: place.folder.appending("pins")) }

  private static func owned(_ key: EpochKey) throws -> SealedSlot {
    let inputs = try SlotInputs(Credentials(keyFile: KeyFile.generate()))
    let place = SlotPlace(vault: key.vault)
    return try NewSlot.make(.keyFile, for: inputs, cost: .testing, memory: 0, place: place).sealed(
      key.key(), key.mark, place: place)
  }

  /// A slot of an unknown kind, with the largest own part.
  private static func foreign(_ key: EpochKey) throws -> SealedSlot {
    let secret = try SlotSecret.random()
    let frame = SlotFrame(id: .random(), kind: .foreign, cost: nil, salt: .random(), publicKey: secret.publicKey)
    let empty = SealedSlot(
      frame: frame, own: CommittedBox(bytes: [UInt8](repeating: 7, count: SealedSlot.mostForeign)), ephemeral: secret.publicKey,
      box: CommittedBox(bytes: [UInt8](repeating: 7, count: SealedSlot.boxBytes)))
    return try empty.sealed(key)
  }

  /// A random recipient's slot: points are not checked to be on the curve, and a rotation seals to each.
  private static func recipient(_ number: Int, _ key: PublicKey32) throws -> SealedSlot {
    let publicKey = try #require(PublicKey32(SecretBytes.random(32).revealed))
    let frame = SlotFrame(id: .random(), kind: .recipient, cost: nil, salt: .zero, publicKey: publicKey)
    return SealedSlot(
      frame: frame, own: nil, ephemeral: key, box: CommittedBox(bytes: [UInt8](repeating: 7, count: SealedSlot.boxBytes)))
  }

  @Test func `a header as large as can be is used, rotated and verified, and has as many bytes as the format says`() throws {
    let (place, _, oldest) = try made()
    #expect(try place.hex("SELECT length(bytes) FROM header") == "495780")
    let vault = try place.unlocked(options(place))
    #expect(text(try vault.get(Self.name)) == "old plaintext")
    try vault.set(form("new"), for: Self.name)
    _ = try vault.verify()
    for _ in 0..<2 { try vault.rotate() }
    _ = try vault.verify()
    #expect(try place.hex("SELECT length(bytes) FROM header") == "495780")
    #expect(
      kind { try vault.addSlot(Identity.recipient(of: Identity.generate())) } == .tooLarge(limit: VaultHeader.mostOthers))
    #expect(kind { try vault.addSlot(Credentials(keyFile: KeyFile.generate())) } == .tooLarge(limit: VaultHeader.mostOwned))
    let first = try vault.invitation()
    let gone = oldest.secret.span.bytes.withUnsafeBytes {
      EpochMark(of: $0, vault: VaultSalt(first.vault.bytes) ?? .zero, epoch: oldest.epoch)
    }
    // Too old to prove: the credential that opened the vault is newer, and holds.
    try vault.check([Invitation(vault: first.vault, key: gone)])
    try vault.check([first])
    #expect(text(try place.unlocked(options(place)).get(Self.name)) == "new")
  }

  /// Most systems let a process lock 64 KiB or 8 MiB. Memory beyond that is guarded, but not locked.
  @Test func `with 64 KiB of memory that may be locked the largest header is used and rotated`() throws {
    let (place, _, _) = try made()
    _ = try place.keyFile()
    for step in ["get", "set", "rotate"] {
      let tool = TracedTool(place, step)
      let end = try tool.run(
        "/bin/sh", ["-c", "ulimit -l 64 && exec \"$0\" \"$@\"", TracedTool.path] + tool.arguments)
      #expect(end.isAcknowledged, "\(step): \(end.output)")
    }
    #expect(text(try place.unlocked(options(place)).get(Self.name)) == "new plaintext")
  }
}
