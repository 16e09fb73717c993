import CofferTestSupport
import CofferMemory
import CofferPlatform
import CofferStorage
import Testing

@testable import CofferVault
@testable import CofferVaultFormat
@testable import CofferVaultRows

final class SlotSample {
  static let memory = 64 << 20
  let vault = VaultSalt.random()
  let key: VaultKey
  let keys: Subkeys
  let generated: [UInt8]
  let code: [UInt8]
  let identity: [UInt8]

  init() throws {
    key = try VaultKey.random()
    keys = try Subkeys(of: key, vault: vault, epoch: 1)
    generated = try KeyFile.generate().revealed
    code = try RecoveryCode.generate().revealed
    identity = try SecretBytes.random(32).revealed
  }

  func credentials(_ kind: SlotKind, passphrase: String = "correct horse") throws -> Credentials {
    var credentials = Credentials()
    if kind.takesPassphrase { credentials.passphrase = try SecretBytes(passphrase) }
    switch kind {
    case .passphrase: break
    case .passphraseAndKeyFile: credentials.keyFile = try SecretBytes([UInt8](repeating: 0x50, count: 999))
    case .keyFile: credentials.keyFile = try SecretBytes(generated)
    case .recoveryCode: credentials.recoveryCode = try SecretBytes(code)
    case .recipient: credentials.identity = try SecretBytes(identity)
    case .foreign: break
    }
    return credentials
  }

  var place: SlotPlace { SlotPlace(vault: vault) }

  func header(_ kinds: [SlotKind]) throws -> VaultHeader {
    var slots: [SealedSlot] = []
    var mixes: [SlotID: [UInt8]] = [:]
    for kind in kinds {
      let inputs = try SlotInputs(try credentials(kind))
      #expect(try inputs.kindToMake() == kind)
      let new = try NewSlot.make(kind, for: inputs, cost: .testing, memory: Self.memory, place: place)
      var mix = [UInt8](repeating: 0xEE, count: 32)
      mix.withUnsafeMutableBytes { new.writeMix(to: $0) }
      slots.append(try new.sealed(key, keys.epochMark, place: place))
      mixes[new.id] = mix
    }
    return try header(slots, mixes, keys: keys)
  }

  func header(_ slots: [SealedSlot], _ mixes: [SlotID: [UInt8]], keys: borrowing Subkeys) throws -> VaultHeader {
    let slots = slots.sorted { $0.id < $1.id }
    let body = try HeaderBody(
      created: 0, rotated: 0, floor: .testing, labels: slots.map { _ in "" },
      mix: { index, out in out.copyBytes(from: mixes[slots[index].id] ?? []) })
    return try VaultHeader(slots: slots, body: body, keys: keys, lineage: .first)
  }

  func open(_ header: VaultHeader, _ credentials: consuming Credentials) throws -> SlotKind {
    let open = try SlotSearch.open(header, with: credentials, memory: Self.memory)
    #expect(open.key.bytes.revealed == key.bytes.revealed)
    return open.kind
  }

  func failure(_ header: VaultHeader, _ credentials: consuming Credentials, memory: Int = SlotSample.memory) -> StoreError.Kind? {
    do throws(StoreError) {
      _ = try SlotSearch.open(header, with: credentials, memory: memory)
      return nil
    } catch {
      return error.kind
    }
  }

  /// The header with one slot's bytes changed and a matching checksum.
  func edited(_ header: VaultHeader, _ edit: (inout [UInt8]) -> Void) throws -> VaultHeader {
    try VaultHeader(decoding: HeaderTests.edited(header.encoded(), edit))
  }
}

private enum Offset {
  static let slot = 42
  static let cost = slot + 18
  static let salt = slot + 26
  static let publicKey = slot + 42
  static let own = slot + 74
  static let ephemeral = own + 176
  static let box = ephemeral + 32
}

@Suite struct SlotTests {
  let sample: SlotSample
  init() throws { sample = try SlotSample() }

  @Test(arguments: SlotKind.openable) func `each kind opens with its own secret`(_ kind: SlotKind) throws {
    let header = try sample.header([kind])
    #expect(try VaultHeader(decoding: header.encoded()) == header)
    #expect(try sample.open(header, sample.credentials(kind)) == kind)
  }

  @Test(arguments: SlotKind.openable) func `no kind opens with the secrets of the others`(_ kind: SlotKind) throws {
    let header = try sample.header([kind])
    for other in SlotKind.openable where other != kind {
      // Passphrase and key file include the passphrase.
      if (kind, other) == (.passphrase, .passphraseAndKeyFile) { continue }
      #expect(sample.failure(header, try sample.credentials(other)) == .wrongSecret)
    }
    if kind.takesPassphrase {
      #expect(sample.failure(header, try sample.credentials(kind, passphrase: "wrong horse")) == .wrongSecret)
    }
  }

  /// Passphrase slots with an attacker's costs, so that their own boxes no longer open.
  private func forged(
    _ costs: [PassphraseCost], of kind: SlotKind = .passphrase, beside genuine: SealedSlot?
  ) throws -> VaultHeader {
    let made = try sample.header(costs.map { _ in kind })
    var slots = zip(made.slots, costs).map { slot, cost in
      SealedSlot(
        frame: SlotFrame(
          id: slot.id, kind: kind, cost: cost, salt: slot.frame.salt, publicKey: slot.frame.publicKey),
        own: slot.own, ephemeral: slot.ephemeral, box: slot.box)
    }
    if let genuine { slots.append(genuine) }
    return try sample.header(slots, [:], keys: sample.keys)
  }

  @Test func `slots that ask for too much work together are not all tried`() throws {
    let header = try forged([.testing, .testing, .testing], beside: nil)
    func failure(_ mostWork: UInt64) throws -> StoreError.Kind? {
      kind {
        _ = try SlotSearch.open(
          header, with: sample.credentials(.passphrase, passphrase: "wrong horse"), memory: SlotSample.memory, mostWork: mostWork)
      }
    }
    #expect(try failure(3 * PassphraseCost.testing.effort) == .wrongSecret)
    #expect(try failure(3 * PassphraseCost.testing.effort - 1) == .kdfMemory(needs: 8 << 20, has: SlotSample.memory))
    // Sixteen slots of standard cost are all tried, and one at its bound is.
    #expect(16 * PassphraseCost.standard.effort <= SlotSearch.mostWork && PassphraseHash.mostWork <= SlotSearch.mostWork)
    for mebibytes in PassphraseHash.mebibytes where mebibytes.nonzeroBitCount == 1 {
      let most = PassphraseCost(passes: min(64, UInt32(PassphraseHash.mostWork) / mebibytes), mebibytes: mebibytes)
      #expect(most.effort <= SlotSearch.mostWork, "\(most)")
    }
    // The cheapest way to take much memory: 2 s each, and at most seven are tried.
    #expect(SlotSearch.mostWork / PassphraseCost(passes: 1, mebibytes: 2048).effort <= 7)
    #expect(16 * PassphraseCost(passes: 6, mebibytes: 256).effort <= SlotSearch.mostWork)
  }

  @Test func `slots that cannot be run take nothing of what a search may cost`() throws {
    let genuine = try #require(try sample.header([.passphrase]).slots.first)
    // Zero passes are invalid, and would cost less than the genuine slot.
    let header = try forged([PassphraseCost](repeating: PassphraseCost(passes: 0, mebibytes: 8), count: 15), beside: genuine)
    let open = try SlotSearch.open(
      header, with: sample.credentials(.passphrase), memory: SlotSample.memory, mostWork: PassphraseCost.testing.effort)
    #expect(open.id == genuine.id)
  }

  @Test func `so has one without a key file before costlier ones with one`() throws {
    let genuine = try #require(try sample.header([.passphrase]).slots.first)
    let header = try forged(
      [PassphraseCost](repeating: PassphraseCost(passes: 2, mebibytes: 8), count: 15), of: .passphraseAndKeyFile, beside: genuine)
    let open = try SlotSearch.open(
      header, with: sample.credentials(.passphraseAndKeyFile), memory: SlotSample.memory, mostWork: PassphraseCost.testing.effort)
    #expect(open.id == genuine.id)
  }

  @Test func `a genuine slot has its turn before costlier ones that were added`() throws {
    let genuine = try #require(try sample.header([.passphrase]).slots.first)
    let header = try forged([PassphraseCost](repeating: PassphraseCost(passes: 2, mebibytes: 8), count: 15), beside: genuine)
    let open = try SlotSearch.open(
      header, with: sample.credentials(.passphrase), memory: SlotSample.memory, mostWork: PassphraseCost.testing.effort)
    #expect(open.id == genuine.id)
  }

  @Test func `the search takes slots that cost nothing first`() throws {
    let header = try sample.header(SlotKind.openable)
    for kind in SlotKind.openable {
      let opened = try sample.open(header, sample.credentials(kind))
      // Of slots with equal cost, any may come first for the owner of both secrets.
      #expect(opened == kind || kind == .passphraseAndKeyFile && opened == .passphrase)
    }
    var all = try sample.credentials(.passphrase)
    all.recoveryCode = try SecretBytes(sample.code)
    all.identity = try SecretBytes(sample.identity)
    // Without memory for Argon2id a passphrase slot cannot have been tried.
    let open = try SlotSearch.open(header, with: all, memory: 0)
    #expect(open.kind == .recoveryCode)
  }

  @Test func `without memory for its cost a passphrase slot is not tried, and the error says so`() throws {
    let header = try sample.header([.passphrase, .keyFile])
    #expect(
      sample.failure(header, try sample.credentials(.passphrase), memory: 7 << 20) == .kdfMemory(needs: 8 << 20, has: 7 << 20))
    #expect(sample.failure(header, try sample.credentials(.keyFile), memory: 0) == nil)
  }

  @Test func `a cost edited into the file is refused before it runs`() throws {
    let header = try sample.header([.passphrase])
    for cost: [UInt8] in [[65, 0, 0, 0, 8, 0, 0, 0], [0, 0, 0, 0, 8, 0, 0, 0], [1, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF]] {
      let bomb = try sample.edited(header) { $0.replaceSubrange(Offset.cost..<Offset.cost + 8, with: cost) }
      guard case .kdfMemory = sample.failure(bomb, try sample.credentials(.passphrase), memory: .max) else {
        Issue.record("\(cost)")
        continue
      }
    }
    // A changed cost within bounds does not open: the slot is bound to it.
    let cheaper = try sample.edited(header) { $0[Offset.cost] = 2 }
    #expect(sample.failure(cheaper, try sample.credentials(.passphrase)) == .wrongSecret)
  }

  @Test func `damage by accident is told apart from a wrong passphrase`() throws {
    let header = try sample.header([.keyFile])
    var bytes = header.encoded()
    bytes[Offset.own + 60] ^= 1
    #expect(#expect(throws: FormatError.self) { try VaultHeader(decoding: bytes) }?.storeError().kind == .damaged)
    // A careful edit looks like a wrong secret while no other slot opens.
    let careful = try sample.edited(header) { $0[Offset.own + 60] ^= 1 }
    #expect(sample.failure(careful, try sample.credentials(.keyFile)) == .wrongSecret)
  }

  @Test func `a slot that knows the secret and does not open was tampered with`() throws {
    let header = try sample.header([.keyFile])
    for offset in [Offset.ephemeral, Offset.box, Offset.box + 30, Offset.box + 103] {
      let changed = try sample.edited(header) { $0[offset] ^= 1 }
      #expect(sample.failure(changed, try sample.credentials(.keyFile)) == .tampered, "byte \(offset)")
    }
    let lowOrder = try sample.edited(header) {
      $0.replaceSubrange(Offset.ephemeral..<Offset.box, with: [UInt8](repeating: 0, count: 32))
    }
    #expect(sample.failure(lowOrder, try sample.credentials(.keyFile)) == .tampered)
    for offset in [Offset.slot, Offset.salt, Offset.publicKey, Offset.own] {
      let changed = try sample.edited(header) { $0[offset] ^= 1 }
      #expect(sample.failure(changed, try sample.credentials(.keyFile)) == .wrongSecret, "byte \(offset)")
    }
    let epoch = try sample.edited(header) { $0[32] ^= 2 }
    #expect(sample.failure(epoch, try sample.credentials(.keyFile)) == .tampered)
    let vault = try sample.edited(header) { $0[16] ^= 1 }
    #expect(sample.failure(vault, try sample.credentials(.keyFile)) == .wrongSecret)
  }

  @Test func `where another slot opens, the sealed header tells of the change`() throws {
    let header = try sample.header([.keyFile, .recoveryCode])
    let changed = try sample.edited(header) { $0[Offset.box] ^= 1 }
    var both = try sample.credentials(.keyFile)
    both.recoveryCode = try SecretBytes(sample.code)
    _ = try sample.open(changed, both)
    #expect(throws: FormatError.unauthentic("header's sealed part")) { try changed.openBody(sample.keys, proving: []).created }
  }

  @Test func `a box of another slot, or one that opens under two secrets, does not open`() throws {
    let header = try sample.header([.keyFile, .keyFile])
    let swapped = try sample.edited(header) { content in
      let stride = 386
      let first = Array(content[Offset.own..<Offset.slot + stride])
      let second = Array(content[Offset.own + stride..<Offset.slot + 2 * stride])
      content.replaceSubrange(Offset.own..<Offset.slot + stride, with: second)
      content.replaceSubrange(Offset.own + stride..<Offset.slot + 2 * stride, with: first)
    }
    #expect(sample.failure(swapped, try sample.credentials(.keyFile)) == .wrongSecret)
    // The commitments of the two own boxes exchanged: each ciphertext is still valid under its key.
    let commitments = try sample.edited(header) { content in
      let a = Offset.own + 24..<Offset.own + 56
      let b = a.lowerBound + 386..<a.upperBound + 386
      let first = Array(content[a])
      content.replaceSubrange(a, with: Array(content[b]))
      content.replaceSubrange(b, with: first)
    }
    #expect(sample.failure(commitments, try sample.credentials(.keyFile)) == .wrongSecret)
  }

  @Test func `a recipient of low order gets no slot`() throws {
    let error = #expect(throws: FormatError.self) {
      try NewSlot.recipient(.zero).sealed(sample.key, sample.keys.epochMark, place: sample.place)
    }
    #expect(error == .damaged("slot's box", "its public key is a point of low order"))
  }

  @Test(arguments: SlotKind.openable) func `after a rotation an open slot finds the new key without its secret`(_ kind: SlotKind)
    throws
  {
    let header = try sample.header([kind])
    let body = try header.openBody(sample.keys, proving: [])
    var open = try SlotSearch.open(header, with: try sample.credentials(kind), memory: SlotSample.memory)
    let fresh = try VaultKey.random()
    let keys = try Subkeys(of: fresh, vault: sample.vault, epoch: 2)
    let slot = header.slots[0]
    let mix = body.withMix(0) { [UInt8]($0) }
    let resealed = try mix.span.bytes.withUnsafeBytes { (mix) throws(FormatError) in
      try slot.resealed(fresh, epoch: 2, place: header.place, mix: mix)
    }
    #expect(resealed.own == slot.own && resealed.frame == slot.frame && resealed.box != slot.box)
    let rotated = try sample.header([resealed], [slot.id: mix], keys: keys)
    try open.reopen(in: rotated)
    let (epoch, isIntact) = (open.epoch, open.isIntact)
    #expect(epoch == 2)
    #expect(isIntact)
    #expect(open.key.bytes.revealed == fresh.bytes.revealed)
    // A rotation cannot be undone slot by slot: the old box does not open.
    let stale = try sample.header([slot], [slot.id: mix], keys: keys)
    #expect(reopenFailure(&open, stale) == .tampered)
    #expect(open.key.bytes.revealed == fresh.bytes.revealed)
  }

  @Test func `an open slot that was removed or given another key pair is locked`() throws {
    let header = try sample.header([.keyFile])
    let other = try sample.header([.keyFile])
    var open = try SlotSearch.open(header, with: try sample.credentials(.keyFile), memory: 0)
    #expect(reopenFailure(&open, other) == .locked)
  }

  private func reopenFailure(_ open: inout OpenSlot, _ header: VaultHeader) -> StoreError.Kind? {
    do throws(StoreError) {
      try open.reopen(in: header)
      return nil
    } catch {
      return error.kind
    }
  }

  @Test func `a new slot serves as the open one`() throws {
    let inputs = try SlotInputs(try sample.credentials(.keyFile))
    let new = try NewSlot.make(.keyFile, for: inputs, cost: .testing, memory: 0, place: sample.place)
    let id = new.id
    let header = try sample.header([new.sealed(sample.key, sample.keys.epochMark, place: sample.place)], [:], keys: sample.keys)
    let open = try new.opened(in: header)?.kind
    #expect(header.slots.map(\.id) == [id])
    #expect(open == .keyFile)
  }

  @Test func `credentials that are none are refused with a reason`() throws {
    let header = try sample.header([.keyFile])
    #expect(sample.failure(header, Credentials()) == .noCredentials)
    #expect(sample.failure(header, Credentials(passphrase: try SecretBytes(zeros: 0))) == .unfitSecret)
    #expect(sample.failure(header, Credentials(passphrase: try SecretBytes(zeros: 1025))) == .unfitSecret)
    #expect(sample.failure(header, Credentials(keyFile: try SecretBytes(zeros: 31))) == .unfitSecret)
    var short = Credentials()
    short.identity = try SecretBytes(zeros: 31)
    #expect(sample.failure(header, short) == .damaged)
    // A file that was not generated neither opens nor makes a slot on its own.
    #expect(sample.failure(header, Credentials(keyFile: try SecretBytes(zeros: 500))) == .wrongSecret)
    let photo = try SlotInputs(Credentials(keyFile: try SecretBytes(zeros: 500)))
    #expect(#expect(throws: StoreError.self) { try photo.kindToMake() }?.kind == .unfitSecret)
  }
}
