internal import CofferMemory

/// The sealed part of the header: policy, labels, and the mix key of each slot, needed to seal to it again.
///
/// The sealed secrets of earlier epochs are not kept: they fill up to 40 KiB of guarded memory, and are needed only to open
/// the part and to write a header.
package struct HeaderBody: ~Copyable, Sendable {
  /// In bytes: a line of a list.
  package static let longestLabel = 64
  static let mixBytes = 32
  /// In bytes: 255 for each slot.
  static let longestExtension = 65_535

  /// Milliseconds since 1970.
  package let created: UInt64, rotated: UInt64
  /// The minimum cost of a new passphrase slot.
  package let floor: PassphraseCost
  /// Names for people, in the order of the header's slots.
  package let labels: [String]
  /// W of each slot, concatenated in the same order.
  private let mixes: SecretBytes

  /// - Parameter mix: writes the 32 bytes of slot `index`; leaves it zero for a recipient.
  package init(
    created: UInt64, rotated: UInt64, floor: PassphraseCost, labels: [String],
    mix: (_ index: Int, UnsafeMutableRawBufferPointer) throws(FormatError) -> Void
  ) throws(FormatError) {
    for label in labels where label.utf8.count > Self.longestLabel {
      throw .damaged("header", "a slot's label has \(label.utf8.count) bytes, and at most \(Self.longestLabel) are allowed")
    }
    let count = labels.count
    let mixes = try SecretBytes(count: count * Self.mixBytes, memory: FormatError.memory) { (out) throws(FormatError) in
      for index in 0..<count { try mix(index, out.part(Self.range(index))) }
    }
    self.init(created: created, rotated: rotated, floor: floor, labels: labels, mixes: mixes)
  }

  private init(
    created: UInt64, rotated: UInt64, floor: PassphraseCost, labels: [String], mixes: consuming SecretBytes
  ) {
    self.created = created
    self.rotated = rotated
    self.floor = floor
    self.labels = labels
    self.mixes = mixes
  }

  package borrowing func withMix<Result: ~Copyable, Failure: Error>(
    _ index: Int, _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try mixes.withUnsafeBytes { (all) throws(Failure) in try body(all.part(Self.range(index))) }
  }

  private static func range(_ index: Int) -> Range<Int> { index * mixBytes..<(index + 1) * mixBytes }

  /// The format's HB, sealed.
  borrowing func sealed(
    publicPart: [UInt8], slots: [SealedSlot], keys: borrowing Subkeys, lineage: Lineage.Next
  ) throws(FormatError) -> CommittedBox {
    precondition(slots.count == labels.count, "the sealed part tells of every slot")
    let count = 8 + 8 + 4 + 4 + labels.reduce(0) { $0 + 16 + Self.mixBytes + 2 + $1.utf8.count } + lineage.byteCount + 2
    let content = try ByteWriter.secret(count) { out in
      out.write(created)
      out.write(rotated)
      out.write(floor.passes)
      out.write(floor.mebibytes)
      for (index, slot) in slots.enumerated() {
        out.write(slot.id)
        withMix(index) { out.write($0) }
        out.write(short: labels[index])
      }
      lineage.write(to: &out)
      out.writeNoExtension()
    }
    let vault = keys.vault
    return content.withUnsafeBytes { content in
      keys.withKey(.hdr) { CommittedBox.seal(content, under: $0, for: .head, salt: vault, context: publicPart) }
    }
  }

  /// Opens the sealed part of `header`; `look` reads its lineage meanwhile.
  package init(
    opening header: VaultHeader, keys: borrowing Subkeys, _ look: (Lineage) throws(FormatError) -> Void
  ) throws(FormatError) {
    let part = "header's sealed part"
    let context = header.publicPart
    let content = try keys.withKey(.hdr) { (key) throws(FormatError) in
      try header.body.open(under: key, for: .head, salt: header.vault, context: context, part: part)
    }
    self = try content.withUnsafeBytes { (content) throws(FormatError) in
      try FormatError.reading(content, of: part) { (reader) throws(FormatError) in
        let body = try HeaderBody(from: &reader, slots: header.slots)
        try look(Lineage(from: &reader, before: header.epoch))
        try reader.extend(limit: Self.longestExtension)
        return body
      }
    }
  }

  /// Reads the sealed fields before the lineage: the ids of `slots`, in their order.
  package init(from reader: inout ByteReader, slots: [SealedSlot]) throws(FormatError) {
    let created = try reader.counter("time")
    let rotated = try reader.counter("time")
    let floor = PassphraseCost(passes: try reader.number(), mebibytes: try reader.number())
    var labels: [String] = []
    var mixes: [UnsafeRawBufferPointer] = []
    for slot in slots {
      guard try reader.block16(Block16<SlotRole>.self) == slot.id else { throw reader.damaged("it lists other slots") }
      let mix = try reader.take(Self.mixBytes)
      guard slot.frame.kind != .recipient || mix.allSatisfy({ $0 == 0 }) else {
        throw reader.damaged("a recipient's slot has a mix key")
      }
      mixes.append(mix)
      labels.append(try reader.text(limit: Self.longestLabel, "label of a slot"))
    }
    try self.init(created: created, rotated: rotated, floor: floor, labels: labels) { index, out in
      out.copyMemory(from: mixes[index])
    }
  }
}
