internal import CofferMemory

/// A slot as the header holds it.
struct SealedSlot: Hashable, Sendable {
  let frame: SlotFrame
  /// The slot's secret key and mix key, under what its owner knows; nil for a recipient, who holds the secret key.
  let own: CommittedBox?
  /// The public half of the key that sealed the box.
  let ephemeral: PublicKey32
  /// The vault's key.
  let box: CommittedBox

  var id: SlotID { frame.id }

  static let ownBytes = 64 + CommittedBox.overhead
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
