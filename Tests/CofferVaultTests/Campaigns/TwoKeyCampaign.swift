import CofferTestSupport
import CofferMemory
import CofferPlatform
import CofferStorage
import Foundation
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

/// A slot whose own box the AEAD opens under two passphrases' keys. With such slots one guess could test many passphrases;
/// the commitment binds the box to one.
@Suite(.tags(.campaign, .process), .wholeRun)
struct TwoKeyCampaign {
  private static let name = ItemName(sealed: "svc", "a")
  private static let passphrases = ["one", "two"]

  /// A passphrase slot as its owner could have made it: valid under the first passphrase, but its ciphertext opens under
  /// both.
  private struct TwoKeySlot {
    let frame: SlotFrame
    let boxes: [CommittedBox]
    let mix: [UInt8]
    /// The AEAD's plaintext for each passphrase.
    let opened: [[UInt8]?]

    init(_ place: SlotPlace, _ key: EpochMark) throws {
      let secretKey = try SecretBytes.random(32).revealed
      let publicKey = try SlotSecret(CofferVaultTests.secret(secretKey + [UInt8](repeating: 0, count: 32))).publicKey
      let frame = SlotFrame(id: .random(), kind: .passphrase, cost: .testing, salt: .random(), publicKey: publicKey)
      let context = place.context(of: frame)
      let keys = try passphrases.map { passphrase in
        let inputs = try SlotInputs(Credentials(passphrase: CofferVaultTests.secret(passphrase)))
        guard let input = try inputs.input(for: frame, memory: 1 << 30) else { throw TracedTool.Failed(what: "no input") }
        var keys = [UInt8](repeating: 0, count: 64)
        keys.withUnsafeMutableBytes { out in
          input.withUnsafeBytes { input in
            KeyedHash.compute(input, Label("PV1 own kek"), salt: frame.id, into: out) { hash in
              context.withUnsafeBytes { hash.update($0) }
            }
          }
        }
        return (encryption: Array(keys[..<32]), commitment: Array(keys[32...]))
      }
      let end = ByteWriter.bytes(SealedSlot.anchorBytes) {
        $0.write(key.epoch)
        $0.write(key.mark)
      }
      let made = Salamander((keys[0].encryption, keys[1].encryption), start: secretKey, end: end, context: context)
      opened = keys.map { Self.open(made, $0.encryption, context) }
      boxes = keys.map { keys in
        let commitment: Digest32 = keys.commitment.withUnsafeBytes { key in
          KeyedHash.digest(key, Label("PV1 own com"), salt: frame.id) { hash in
            (made.nonce + made.box).withUnsafeBytes { hash.update($0) }
          }
        }
        return CommittedBox(bytes: made.nonce + commitment.bytes + made.box)
      }
      mix = Array(opened[0]?[32..<64] ?? [])
      self.frame = frame
    }

    private static func open(_ made: Salamander, _ key: [UInt8], _ context: [UInt8]) -> [UInt8]? {
      guard let nonce = made.nonce.withUnsafeBytes({ Nonce24($0) }) else { return nil }
      var message = [UInt8](repeating: 0, count: SlotSecret.count + SealedSlot.anchorBytes)
      let isOpen = message.withUnsafeMutableBytes { out in
        made.box.withUnsafeBytes { box in
          key.withUnsafeBytes { key in
            context.withUnsafeBytes { AEAD.open(box, key: key, nonce: nonce, ad: $0, into: out) }
          }
        }
      }
      return isOpen ? message : nil
    }
  }

  /// Adds the slot with `own` to the vault, as a holder of the key can: header and state are sealed anew.
  private func add(_ made: TwoKeySlot, _ own: CommittedBox, to place: TemporaryVault) throws {
    let bytes = try [UInt8](#require(Data(hex: place.hex("SELECT hex(bytes) FROM header"))))
    let row = try [UInt8](#require(Data(hex: place.hex("SELECT hex(bytes) FROM state"))))
    let header = try VaultHeader(decoding: bytes)
    let open = try SlotSearch.open(header, with: TemporaryVault.credentials(), memory: 1 << 24)
    let keys = try Subkeys(of: open.key, vault: header.vault, epoch: header.epoch)
    let state = try row.withUnsafeBytes {
      try VaultState(opening: $0, epoch: header.epoch, header: PlainHash.digest(bytes), keys: keys)
    }
    let sealed = try made.mix.withUnsafeBytes {
      try SlotSeal.box(open.key, epoch: header.epoch, frame: made.frame, place: header.place, mix: $0)
    }
    let slot = SealedSlot(frame: made.frame, own: own, ephemeral: sealed.ephemeral, box: sealed.box)
    let slots = (header.slots + [slot]).sorted { $0.id < $1.id }
    let body = try header.openBody(keys, proving: [])
    let bodies = try HeaderBody(
      created: body.created, rotated: body.rotated, floor: body.floor, labels: slots.map { _ in "" }
    ) { index, out in
      guard let old = header.slots.firstIndex(where: { $0.id == slots[index].id }) else {
        return made.mix.withUnsafeBytes { out.copyMemory(from: $0) }
      }
      body.withMix(old) { out.copyMemory(from: $0) }
    }
    let new = try VaultHeader(slots: slots, body: bodies, keys: keys, lineage: .first).encoded()
    let newRow = state.sealed(epoch: header.epoch, header: PlainHash.digest(new), keys: keys)
    let hex = Hex.text(new)
    try place.attack(
      """
      UPDATE header SET bytes=x'\(hex)'; UPDATE header_copy SET bytes=x'\(hex)'; UPDATE state SET bytes=x'\(Hex.text(newRow))'
      """)
  }

  private func unlock(_ place: TemporaryVault, _ passphrase: String) throws -> String {
    do {
      let vault = try LockedVault.open(place.path).unlock(with: Credentials(passphrase: secret(passphrase)))
      _ = try vault.verify()
      return text(try vault.get(Self.name)) == "value" ? "opened" : "WRONG VALUE"
    } catch let error as StoreError { return error.word }
  }

  @Test func `a slot opens with the passphrase that its commitment names alone`() throws {
    let original = try TemporaryVault()
    let vault = try UnlockedVault.create(at: original.path, with: TemporaryVault.credentials(), cost: .testing)
    try vault.set(form("value"), for: Self.name)
    let key = try vault.invitation().key
    let id = VaultSalt(try vault.lock().id.bytes)
    let kept = try KeptFiles(original.folder, ["vault.sqlite"])
    let place = try TemporaryVault()
    var tally = Tally()
    for number in 0..<Campaign.size(short: 2, long: 200) {
      let made = try TwoKeySlot(SlotPlace(vault: #require(id)), key)
      // The AEAD alone is fooled: one box, two keys, two secrets.
      let (first, second) = try (#require(made.opened[0]), #require(made.opened[1]))
      #expect(first != second)
      // Under the first commitment the slot is valid. Under the second its content is no key pair of this slot.
      for (own, outcomes) in zip(made.boxes, [["opened", "wrongSecret"], ["wrongSecret", "tampered or damaged"]]) {
        try kept.put(into: place.folder)
        try add(made, own, to: place)
        for (passphrase, outcome) in zip(Self.passphrases, outcomes) {
          let which = own == made.boxes[0] ? "first" : "second"
          tally.add(
            "committed to the \(which) key, passphrase \(passphrase)", try unlock(place, passphrase),
            allowed: Set(outcome.components(separatedBy: " or ")),
            "\(number)")
        }
      }
    }
    tally.report("slots whose ciphertext opens under two keys")
  }
}
