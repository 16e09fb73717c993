internal import CofferMemory
internal import CofferStorage

/// What a slot's boxes are bound to beside the vault: who it is for and what opens it. All of it public.
struct SlotFrame: Hashable, Sendable {
  let id: SlotID
  let kind: SlotKind
  /// Zeros unless a passphrase is involved.
  let passes: UInt32, mebibytes: UInt32
  let salt: SlotSalt
  let publicKey: PublicKey32

  /// Bytes of a frame.
  static let count = 16 + 1 + 1 + 4 + 4 + 16 + 32

  var cost: PassphraseCost { PassphraseCost(passes: passes, mebibytes: mebibytes) }

  func write(to out: inout ByteWriter) {
    out.write(id)
    out.write(kind.rawValue)
    out.write(kind.hash)
    out.write(passes)
    out.write(mebibytes)
    out.write(salt)
    out.write(publicKey)
  }

  init(id: SlotID, kind: SlotKind, cost: PassphraseCost?, salt: SlotSalt, publicKey: PublicKey32) {
    self.id = id
    self.kind = kind
    passes = cost?.passes ?? 0
    mebibytes = cost?.mebibytes ?? 0
    self.salt = salt
    self.publicKey = publicKey
  }

  /// Only the combinations that the format names are read.
  init(from reader: inout ByteReader) throws(FormatError) {
    id = try reader.block16()
    let number: UInt8 = try reader.number()
    let hash: UInt8 = try reader.number()
    guard let kind = SlotKind(rawValue: number), hash == kind.hash else {
      throw reader.damaged("a slot has the unknown type \(number) with the hash \(hash)")
    }
    self.kind = kind
    passes = try reader.number()
    mebibytes = try reader.number()
    salt = try reader.block16()
    publicKey = try reader.block32()
    guard kind.takesPassphrase || (passes == 0 && mebibytes == 0) else {
      throw reader.damaged("a slot without a passphrase has a passphrase's cost")
    }
    guard (kind == .recipient) == (salt == .zero) else {
      throw reader.damaged(kind == .recipient ? "a recipient's slot has a salt" : "a slot has no salt")
    }
  }
}

extension SlotKind {
  /// Whether a passphrase, and so Argon2id, takes part.
  var takesPassphrase: Bool { self == .passphrase || self == .passphraseAndKeyFile }

  /// The `alg` byte: which passphrase hash is used. 2 is Argon2id 1.3, 0 none.
  fileprivate var hash: UInt8 { takesPassphrase ? 2 : 0 }
}

/// Which vault in which version a slot belongs to.
struct SlotPlace: Hashable, Sendable {
  let format: UInt32
  let vault: VaultSalt

  /// CTX of the format.
  func context(of frame: SlotFrame) -> [UInt8] {
    ByteWriter.bytes(13 + 4 + 16 + SlotFrame.count) { out in
      out.write("PVault1 slot\0")
      out.write(format)
      out.write(vault)
      frame.write(to: &out)
    }
  }

  /// CTX, epoch and ephemeral key: what the box with the vault's key is bound to.
  func sealContext(of frame: SlotFrame, epoch: UInt64, ephemeral: PublicKey32) -> [UInt8] {
    let context = context(of: frame)
    return ByteWriter.bytes(context.count + 8 + 32) { out in
      out.write(context)
      out.write(epoch)
      out.write(ephemeral)
    }
  }
}

/// A slot as the header holds it.
struct SealedSlot: Hashable, Sendable {
  let frame: SlotFrame
  /// The slot's secret key and mix key, and the mark of the key that the vault had then, under what its owner knows; nil for a recipient,
  /// who holds the secret key.
  let own: CommittedBox?
  /// The public half of the key that sealed the box.
  let ephemeral: PublicKey32
  /// The vault's key.
  let box: CommittedBox

  var id: SlotID { frame.id }

  static let ownBytes = SlotSecret.count + SlotSeal.anchorBytes + CommittedBox.overhead
  static let boxBytes = VaultKey.count + CommittedBox.overhead

  var encodedCount: Int { SlotFrame.count + (own == nil ? 0 : Self.ownBytes) + 32 + Self.boxBytes }

  init(frame: SlotFrame, own: CommittedBox?, ephemeral: PublicKey32, box: CommittedBox) {
    self.frame = frame
    self.own = own
    self.ephemeral = ephemeral
    self.box = box
  }

  func write(to out: inout ByteWriter) {
    frame.write(to: &out)
    if let own { out.write(own.bytes) }
    out.write(ephemeral)
    out.write(box.bytes)
  }

  init(from reader: inout ByteReader) throws(FormatError) {
    frame = try SlotFrame(from: &reader)
    own = frame.kind == .recipient ? nil : CommittedBox(bytes: [UInt8](try reader.take(Self.ownBytes)))
    ephemeral = try reader.block32()
    box = CommittedBox(bytes: [UInt8](try reader.take(Self.boxBytes)))
  }
}
