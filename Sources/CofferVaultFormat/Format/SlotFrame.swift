/// The public part of a slot that its boxes are bound to: its owner's key and its kind.
package struct SlotFrame: Hashable, Sendable {
  let id: SlotID
  package let kind: SlotKind
  /// The method that turns a secret into a key: 2 is Argon2id 1.3, 0 none. Any number for a foreign slot.
  private let method: UInt8
  /// Zeros unless a passphrase is involved, or the slot is foreign.
  package let passes: UInt32, mebibytes: UInt32
  let salt: SlotSalt
  package let publicKey: PublicKey32

  static let count = 16 + 1 + 1 + 4 + 4 + 16 + 32

  package var cost: PassphraseCost { PassphraseCost(passes: passes, mebibytes: mebibytes) }

  func write(to out: inout ByteWriter) {
    out.write(id)
    out.write(kind.rawValue)
    out.write(method)
    out.write(passes)
    out.write(mebibytes)
    out.write(salt)
    out.write(publicKey)
  }

  package init(id: SlotID, kind: SlotKind, cost: PassphraseCost?, salt: SlotSalt, publicKey: PublicKey32) {
    self.id = id
    self.kind = kind
    method = kind.method ?? 0
    passes = cost?.passes ?? 0
    mebibytes = cost?.mebibytes ?? 0
    self.salt = salt
    self.publicKey = publicKey
  }

  /// Reads only the combinations in the format.
  package init(from reader: inout ByteReader) throws(FormatError) {
    id = try reader.block16()
    let number: UInt8 = try reader.number()
    method = try reader.number()
    guard let kind = SlotKind(rawValue: number), kind.method == nil || kind.method == method else {
      throw reader.damaged("a slot has the unknown type \(number) with the hash \(method)")
    }
    self.kind = kind
    passes = try reader.number()
    mebibytes = try reader.number()
    salt = try reader.block16()
    publicKey = try reader.block32()
    guard kind != .foreign else { return }
    guard kind.takesPassphrase || (passes == 0 && mebibytes == 0) else {
      throw reader.damaged("a slot without a passphrase has a passphrase's cost")
    }
    guard (kind == .recipient) == (salt == .zero) else {
      throw reader.damaged(kind == .recipient ? "a recipient's slot has a salt" : "a slot has no salt")
    }
  }
}

extension SlotKind {
  /// Whether a passphrase, and so Argon2id, is involved.
  package var takesPassphrase: Bool { self == .passphrase || self == .passphraseAndKeyFile }

  /// The `alg` byte of a slot of this kind; nil for any.
  fileprivate var method: UInt8? { self == .foreign ? nil : takesPassphrase ? 2 : 0 }
}

/// The vault of a slot. Not the version of the format: upgrading a vault cannot reseal the `own` boxes of others. The
/// header's sealed part is bound to the version.
package struct SlotPlace: Hashable, Sendable {
  let vault: VaultSalt

  package init(vault: VaultSalt) {
    self.vault = vault
  }

  /// The format's CTX.
  func context(of frame: SlotFrame) -> [UInt8] {
    ByteWriter.bytes(13 + 16 + SlotFrame.count) { out in
      out.write("PVault1 slot\0")
      out.write(vault)
      frame.write(to: &out)
    }
  }

  /// CTX, epoch and ephemeral key, to which the box with the vault's key is bound.
  func sealContext(of frame: SlotFrame, epoch: UInt64, ephemeral: PublicKey32) -> [UInt8] {
    let context = context(of: frame)
    return ByteWriter.bytes(context.count + 8 + 32) { out in
      out.write(context)
      out.write(epoch)
      out.write(ephemeral)
    }
  }
}

package struct SealedSlot: Hashable, Sendable {
  package let frame: SlotFrame
  /// The slot's secret key and mix key, and the mark of the vault's key at that time, sealed under the owner's secret. Nil
  /// for a recipient, who holds the secret key. For a foreign slot, opaque bytes.
  let own: CommittedBox?
  /// The public half of the key that sealed the box.
  let ephemeral: PublicKey32
  /// Contains the vault's key.
  let box: CommittedBox

  package var id: SlotID { frame.id }

  static let ownBytes = secretBytes + anchorBytes + CommittedBox.overhead
  /// The secret key, then W.
  static let secretBytes = 64
  /// LE64 a ‖ mark_a, after the secret in `own`.
  static let anchorBytes = 8 + 32
  static let boxBytes = VaultKey.count + CommittedBox.overhead
  /// In bytes: a security chip's credential has 1 023, a post-quantum ciphertext 1 568.
  static let mostForeign = 3072

  var encodedCount: Int { SlotFrame.count + (frame.kind == .foreign ? 2 : 0) + (own?.bytes.count ?? 0) + 32 + Self.boxBytes }

  package init(frame: SlotFrame, own: CommittedBox?, ephemeral: PublicKey32, box: CommittedBox) {
    self.frame = frame
    self.own = own
    self.ephemeral = ephemeral
    self.box = box
  }

  func write(to out: inout ByteWriter) {
    frame.write(to: &out)
    if let own, frame.kind == .foreign { out.write(short: own.bytes) } else if let own { out.write(own.bytes) }
    out.write(ephemeral)
    out.write(box.bytes)
  }

  package init(from reader: inout ByteReader) throws(FormatError) {
    frame = try SlotFrame(from: &reader)
    own =
      switch frame.kind {
      case .recipient: nil
      case .foreign: CommittedBox(bytes: [UInt8](try reader.short(limit: Self.mostForeign, "own part of a slot")))
      default: CommittedBox(bytes: [UInt8](try reader.take(Self.ownBytes)))
      }
    ephemeral = try reader.block32()
    box = CommittedBox(bytes: [UInt8](try reader.take(Self.boxBytes)))
  }
}
