internal import CofferMemory
internal import CofferStorage

/// A slot just made, with what the sealed header keeps of it.
struct NewSlot: ~Copyable, Sendable {
  let slot: SealedSlot
  /// Nil for a recipient known by the public key only.
  private let secret: SlotSecret?

  /// Makes the slot of `kind` for credentials.
  ///
  /// - Parameter cost: of a passphrase; the caller's policy, never numbers from a file. Checked as a reader will.
  /// - Parameter memory: bytes that Argon2id may use.
  /// - Throws: `.refused` when the credentials lack what `kind` wants, `.kdfMemory`, `.io`.
  static func make(
    _ kind: SlotKind, for inputs: borrowing SlotInputs, cost: PassphraseCost, memory: Int, place: SlotPlace, epoch: UInt64,
    key: borrowing VaultKey
  ) throws(StoreError) -> NewSlot {
    if kind == .recipient {
      guard let secret = try inputs.recipientSecret() else { throw missing() }
      let publicKey = secret.publicKey
      return try recipient(publicKey, secret: secret, place: place, epoch: epoch, key: key)
    }
    let secret: SlotSecret
    do { secret = try SlotSecret.random() } catch { throw error.storeError() }
    let frame = SlotFrame(
      id: .random(), kind: kind, cost: kind.takesPassphrase ? cost : nil, salt: .random(), publicKey: secret.publicKey)
    guard let input = try inputs.input(for: frame, memory: memory) else { throw missing() }
    let own = SlotSeal.own(secret, under: input, frame: frame, place: place)
    let sealed: SealedSlot
    do {
      let box = try secret.withMix { (mix) throws(FormatError) in
        try SlotSeal.box(key, epoch: epoch, frame: frame, place: place, mix: mix)
      }
      sealed = SealedSlot(frame: frame, own: own, ephemeral: box.ephemeral, box: box.box)
    } catch { throw error.storeError() }
    return NewSlot(slot: sealed, secret: secret)
  }

  /// Makes a slot that the holder of a secret key opens.
  ///
  /// - Throws: `.damaged` for a public key of low order.
  static func recipient(
    _ publicKey: PublicKey32, secret: consuming SlotSecret? = nil, place: SlotPlace, epoch: UInt64, key: borrowing VaultKey
  ) throws(StoreError) -> NewSlot {
    let frame = SlotFrame(id: .random(), kind: .recipient, cost: nil, salt: .zero, publicKey: publicKey)
    do throws(FormatError) {
      let box = try Block32<PublicKeyRole>.zero.withBytes { (mix) throws(FormatError) in
        try SlotSeal.box(key, epoch: epoch, frame: frame, place: place, mix: mix)
      }
      let slot = SealedSlot(frame: frame, own: nil, ephemeral: box.ephemeral, box: box.box)
      return NewSlot(slot: slot, secret: secret)
    } catch {
      throw error.storeError()
    }
  }

  private init(slot: SealedSlot, secret: consuming SlotSecret?) {
    self.slot = slot
    self.secret = secret
  }

  /// Writes W, 32 bytes, for the sealed header.
  borrowing func writeMix(to out: UnsafeMutableRawBufferPointer) {
    switch secret {
    case .some(let secret): secret.withMix { out.copyMemory(from: $0) }
    case .none: Block32<PublicKeyRole>.zero.withBytes { out.copyMemory(from: $0) }
    }
  }

  /// The slot as a vault keeps the one that opened it; nil for a recipient who holds the secret key elsewhere.
  consuming func opened(epoch: UInt64, key: consuming VaultKey) -> OpenSlot? {
    let frame = slot.frame
    guard let secret else { return nil }
    return OpenSlot(frame: frame, epoch: epoch, secret: secret, key: key)
  }

  private static func missing() -> StoreError {
    StoreError(.refused, "the credentials do not make a slot of this kind", cure: "give what the slot shall be opened with")
  }
}
