internal import CofferMemory
package import CofferPlatform

/// A new slot without its boxes. Argon2id runs here, where no transaction waits. The transaction that adds the slot makes the
/// boxes, when the vault's key is known.
package struct NewSlot: ~Copyable, Sendable {
  let frame: SlotFrame
  /// The slot's IKM; nil for a recipient.
  private let input: SecretBytes?
  /// Nil for a recipient known only by the public key.
  private let secret: SlotSecret?

  package var id: SlotID { frame.id }

  /// - Parameter id: the id of the slot it replaces, if any.
  /// - Parameter cost: the cost of a passphrase by the caller's policy, never numbers from a file. Checked as by a reader.
  /// - Parameter memory: bytes that Argon2id may use.
  /// - Throws: `.unfitSecret` if the credentials do not suit `kind`, `.kdfMemory`, `.memory`.
  package static func make(
    _ kind: SlotKind, for inputs: borrowing SlotInputs, id: SlotID = .random(), cost: PassphraseCost, memory: Int,
    place: SlotPlace
  ) throws(StoreError) -> NewSlot {
    if kind == .recipient {
      guard let secret = try inputs.recipientSecret() else { throw missing() }
      let publicKey = secret.publicKey
      return recipient(publicKey, secret: secret, id: id)
    }
    let secret: SlotSecret
    do { secret = try SlotSecret.random() } catch { throw error.storeError() }
    return try make(kind, for: inputs, id: id, secret: secret, cost: cost, memory: memory, place: place)
  }

  /// Makes a slot of `kind` around `secret`. Not for recipients.
  static func make(
    _ kind: SlotKind, for inputs: borrowing SlotInputs, id: SlotID, secret: consuming SlotSecret, cost: PassphraseCost,
    memory: Int, place: SlotPlace
  ) throws(StoreError) -> NewSlot {
    let frame = SlotFrame(
      id: id, kind: kind, cost: kind.takesPassphrase ? cost : nil, salt: .random(), publicKey: secret.publicKey)
    guard let input = try inputs.input(for: frame, memory: memory) else { throw missing() }
    return NewSlot(frame: frame, input: input, secret: secret)
  }

  package static func recipient(
    _ publicKey: PublicKey32, secret: consuming SlotSecret? = nil, id: SlotID = .random()
  ) -> NewSlot {
    let frame = SlotFrame(id: id, kind: .recipient, cost: nil, salt: .zero, publicKey: publicKey)
    return NewSlot(frame: frame, input: nil, secret: secret)
  }

  private init(frame: SlotFrame, input: consuming SecretBytes?, secret: consuming SlotSecret?) {
    self.frame = frame
    self.input = input
    self.secret = secret
  }

  /// - Parameter mark: the key's mark.
  /// - Throws: ``FormatError/damaged(_:_:)`` for a recipient's public key of low order.
  package borrowing func sealed(_ key: borrowing VaultKey, _ mark: EpochMark, place: SlotPlace) throws(FormatError) -> SealedSlot
  {
    let mix = try SecretBytes(count: HeaderBody.mixBytes, memory: FormatError.memory) { (out) throws(FormatError) in
      writeMix(to: out)
    }
    let box = try mix.withUnsafeBytes { (mix) throws(FormatError) in
      try SlotSeal.box(key, epoch: mark.epoch, frame: frame, place: place, mix: mix)
    }
    return SealedSlot(frame: frame, own: try own(mark, place), ephemeral: box.ephemeral, box: box.box)
  }

  private borrowing func own(_ mark: EpochMark, _ place: SlotPlace) throws(FormatError) -> CommittedBox? {
    switch input {
    case .some(let input):
      switch secret {
      case .some(let secret): try SlotSeal.own(secret, mark, under: input, frame: frame, place: place)
      case .none: nil
      }
    case .none: nil
    }
  }

  /// Writes W, 32 bytes, for the sealed header.
  package borrowing func writeMix(to out: UnsafeMutableRawBufferPointer) {
    switch secret {
    case .some(let secret) where frame.kind != .recipient: secret.withMix { out.copyMemory(from: $0) }
    default: Block32<PublicKeyRole>.zero.withBytes { out.copyMemory(from: $0) }
    }
  }

  /// The open slot, with the key that `header` seals to it; nil for a recipient whose secret key is elsewhere.
  package consuming func opened(in header: VaultHeader) throws(FormatError) -> OpenSlot? {
    let id = frame.id
    guard let secret, let slot = header.slots.first(where: { $0.id == id }) else { return nil }
    let key = try SlotSeal.openBox(slot, epoch: header.epoch, place: header.place, with: secret)
    return OpenSlot(frame: slot.frame, epoch: header.epoch, secret: secret, key: key)
  }

  private static func missing() -> StoreError {
    StoreError(.unfitSecret, "these credentials cannot open a slot of this kind", cure: "give the secret of that slot")
  }
}

package struct SlotPlan: ~Copyable, Sendable {
  package var dropped: Set<SlotID> = []
  /// The only slots that stay, if the caller named them.
  package var only: Set<SlotID>?
  package var labels: [SlotID: String] = [:]
  /// A slot that is new or replaces the one with its id.
  package var added: NewSlot?
  /// The new floor of passphrase costs.
  package var floor: PassphraseCost?
  /// Slots that must still exist, with the same key pair, when the change is made.
  package var expected: [SlotID: PublicKey32] = [:]
  /// The only slots that may exist then, if a person reviewed them.
  package var shown: Set<SlotSummary.ID>?

  package init() {}

  package borrowing func keeps(_ id: SlotID) -> Bool { (only?.contains(id) ?? true) && !dropped.contains(id) }

  package borrowing func replaces(_ id: SlotID) -> Bool { addedID == id }

  package var addedID: SlotID? {
    switch added {
    case .some(let added): added.id
    case .none: nil
    }
  }

  package borrowing func writeAddedMix(to out: UnsafeMutableRawBufferPointer) {
    switch added {
    case .some(let added): added.writeMix(to: out)
    case .none: return
    }
  }
}
