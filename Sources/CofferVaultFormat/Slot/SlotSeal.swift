package import CofferMemory

/// The two boxes of a slot: its own, which the owner's secret opens, and the one with the vault's key.
enum SlotSeal {
  private static let ownPart = "slot"
  private static let boxPart = "slot's box"

  /// The format's `own`: the slot's secret and the mark of the vault's key, under IKM.
  static func own(
    _ secret: borrowing SlotSecret, _ key: EpochMark, under input: borrowing SecretBytes, frame: SlotFrame, place: SlotPlace
  ) throws(FormatError) -> CommittedBox {
    let context = place.context(of: frame)
    let content = try ByteWriter.secret(SlotSecret.count + SealedSlot.anchorBytes) { out in
      secret.withBoth { out.write($0) }
      out.write(key.epoch)
      out.write(key.mark)
    }
    return input.withUnsafeBytes { input in
      content.withUnsafeBytes { CommittedBox.seal($0, under: input, for: .own, salt: frame.id, context: context) }
    }
  }

  /// Opens the slot's secret, and sets `anchor` to the epoch and mark of the vault's key when the slot was sealed.
  ///
  /// - Throws: ``FormatError/unauthentic(_:)`` if `input` is not this slot's or the slot was changed, which look alike.
  static func openOwn(
    _ own: CommittedBox, under input: borrowing SecretBytes, frame: SlotFrame, place: SlotPlace, anchor: inout Anchor?
  ) throws(FormatError) -> SlotSecret {
    let context = place.context(of: frame)
    let content = try input.withUnsafeBytes { (input) throws(FormatError) in
      try own.open(under: input, for: .own, salt: frame.id, context: context, part: ownPart)
    }
    return try content.withUnsafeBytes { (content) throws(FormatError) in
      try FormatError.reading(content, of: ownPart) { (reader) throws(FormatError) in
        let both = try reader.take(SlotSecret.count)
        let key = EpochMark(epoch: try reader.counter("epoch", atLeast: 1), mark: try reader.block32())
        anchor = Anchor(vault: place.vault, key: key, source: .slot)
        do throws(SecretMemoryError) { return SlotSecret(try SecretBytes(copying: both)) } catch { throw .memory(error) }
      }
    }
  }

  /// Seals the vault's key to a slot. Of the slot's secret this needs only W, which the sealed header keeps for rotation.
  ///
  /// - Throws: ``FormatError/damaged(_:_:)`` for a public key of low order.
  static func box(
    _ key: borrowing VaultKey, epoch: UInt64, frame: SlotFrame, place: SlotPlace, mix: UnsafeRawBufferPointer
  ) throws(FormatError) -> (ephemeral: PublicKey32, box: CommittedBox) {
    let secret = try SecretBytes.fresh(KeyAgreement.keyBytes)
    let ephemeral = secret.withUnsafeBytes { KeyAgreement.publicKey(of: $0) }
    let context = place.sealContext(of: frame, epoch: epoch, ephemeral: ephemeral)
    let box = try secret.withUnsafeBytes { (secret) throws(FormatError) in
      try withMixed(secret, frame.publicKey, mix: mix, frame: frame, ephemeral: ephemeral) { mixed in
        key.bytes.withUnsafeBytes { CommittedBox.seal($0, under: mixed, for: .seal, salt: frame.id, context: context) }
      }
    }
    return (ephemeral, box)
  }

  /// - Throws: ``FormatError/unauthentic(_:)`` if the box was changed or made for another slot, vault, version or epoch;
  ///   ``FormatError/damaged(_:_:)`` for an ephemeral key of low order.
  static func openBox(
    _ slot: SealedSlot, epoch: UInt64, place: SlotPlace, with secret: borrowing SlotSecret
  ) throws(FormatError) -> VaultKey {
    let frame = slot.frame
    let context = place.sealContext(of: frame, epoch: epoch, ephemeral: slot.ephemeral)
    let opened = try secret.withBoth { (both) throws(FormatError) in
      try withMixed(
        both.part(0..<32), slot.ephemeral, mix: both.part(32..<64), frame: frame, ephemeral: slot.ephemeral
      ) { (mixed) throws(FormatError) in
        try slot.box.open(under: mixed, for: .seal, salt: frame.id, context: context, part: boxPart)
      }
    }
    return try VaultKey(opened: opened, part: boxPart)
  }

  /// Lends F(W, "PV1 sealmix", slot_id, X25519 ‖ E ‖ pk). W is the hash's key; unless it is zeros, it is uniform.
  private static func withMixed<Result: ~Copyable>(
    _ secret: UnsafeRawBufferPointer, _ peer: PublicKey32, mix: UnsafeRawBufferPointer, frame: SlotFrame,
    ephemeral: PublicKey32, _ body: (UnsafeRawBufferPointer) throws(FormatError) -> Result
  ) throws(FormatError) -> Result {
    try KeyAgreement.withShared(secret, peer, part: boxPart) { (shared) throws(FormatError) in
      try withWipedScratch(32) { (mixed) throws(FormatError) in
        KeyedHash.compute(mix, .sealMix, salt: frame.id, into: mixed) { hash in
          hash.update(shared)
          hash.update(ephemeral)
          hash.update(frame.publicKey)
        }
        return try body(UnsafeRawBufferPointer(mixed))
      }
    }
  }
}

extension SealedSlot {
  /// For a rotation, without the owner's secret.
  ///
  /// - Parameter mix: the slot's W, from the sealed header.
  package func resealed(
    _ key: borrowing VaultKey, epoch: UInt64, place: SlotPlace, mix: UnsafeRawBufferPointer
  ) throws(FormatError) -> SealedSlot {
    let new = try SlotSeal.box(key, epoch: epoch, frame: frame, place: place, mix: mix)
    return SealedSlot(frame: frame, own: own, ephemeral: new.ephemeral, box: new.box)
  }
}

/// The secret of a slot's box: an X25519 secret key, and a mix key W that only the slot and the sealed header contain.
///
/// Both are needed. The holder of an old vault key can read every W, but cannot open the new key without a slot's secret key.
/// With W in the mix, breaking X25519 alone (a quantum computer with a copy of the file) opens no slot but a recipient's, whose
/// W is zeros.
package struct SlotSecret: ~Copyable, Sendable {
  static let count = SealedSlot.secretBytes
  /// The secret key, then W.
  private let both: SecretBytes

  static func random() throws(FormatError) -> SlotSecret { SlotSecret(try SecretBytes.fresh(count)) }

  /// A recipient's secret key, and no mix key.
  static func recipient(_ identity: borrowing SecretBytes) throws(FormatError) -> SlotSecret {
    let both = try ByteWriter.secret(count) { out in
      identity.withUnsafeBytes { out.write($0) }
      out.write(Block32<PublicKeyRole>.zero)
    }
    return SlotSecret(both)
  }

  package init(_ both: consuming SecretBytes) {
    precondition(both.count == Self.count, "a slot's secret is a secret key and a mix key")
    self.both = both
  }

  borrowing func copy() throws(FormatError) -> SlotSecret { SlotSecret(try both.copy()) }

  /// False in a forked child.
  var isIntact: Bool { both.isIntact }

  var publicKey: PublicKey32 { withSecretKey { KeyAgreement.publicKey(of: $0) } }

  borrowing func withSecretKey<Result: ~Copyable, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try both.withUnsafeBytes { (both) throws(Failure) in try body(both.part(0..<32)) }
  }

  borrowing func withMix<Result: ~Copyable, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try both.withUnsafeBytes { (both) throws(Failure) in try body(both.part(32..<64)) }
  }

  borrowing func withBoth<Result: ~Copyable, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try both.withUnsafeBytes(body)
  }
}
