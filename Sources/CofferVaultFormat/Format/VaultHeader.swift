package import CofferPlatform

/// The vault's id and its slots. Rewritten only when slots, epoch or the least cost of new slots change.
///
/// The sealed part is bound to the public part. An unkeyed digest follows both, and reveals accidental damage before a secret
/// is asked for. Every version of the format begins with magic, version and least reader, and ends in this digest.
package struct VaultHeader: Hashable, Sendable {
  /// 16 slots and 240 foreign ones with full labels, all listed epochs, and a later version's extension take 930 195 bytes.
  package static let largest = 1024 * 1024
  static let slotCounts = 1...256
  /// The maximum number of slots with their own secret: each may cost an Argon2id run.
  package static let mostOwned = 16
  /// The maximum number of slots of recipients and other programs. Finding one by its public key costs a comparison.
  package static let mostOthers = 240
  static let magic: StaticString = "PVAULT\0\u{1}"
  private static let fixedBytes = 8 + 4 + 4 + 16 + 8 + 2

  package let format: UInt32
  let leastReader: UInt32
  package let vault: VaultSalt
  package let epoch: UInt64
  /// Ascending by id.
  package let slots: [SealedSlot]
  /// The ``HeaderBody``.
  let body: CommittedBox

  package var place: SlotPlace { SlotPlace(vault: vault) }

  /// Seals `body` and `lineage` to a header over its slots, in the epoch of `keys`.
  package init(
    slots: [SealedSlot], body: borrowing HeaderBody, keys: borrowing Subkeys, lineage: Lineage.Next
  ) throws(FormatError) {
    let (vault, epoch) = (keys.vault, keys.epochMark.epoch)
    let version = UInt32(VaultFormat.version)
    let publicPart = Self.publicPart(format: version, leastReader: version, vault: vault, epoch: epoch, slots: slots)
    let sealed = try body.sealed(publicPart: publicPart, slots: slots, keys: keys, lineage: lineage)
    self.init(format: version, leastReader: version, vault: vault, epoch: epoch, slots: slots, body: sealed)
  }

  private init(
    format: UInt32, leastReader: UInt32, vault: VaultSalt, epoch: UInt64, slots: [SealedSlot], body: CommittedBox
  ) {
    self.format = format
    self.leastReader = leastReader
    self.vault = vault
    self.epoch = epoch
    self.slots = slots
    self.body = body
  }

  /// The format's HP, which the sealed part is bound to.
  var publicPart: [UInt8] {
    Self.publicPart(format: format, leastReader: leastReader, vault: vault, epoch: epoch, slots: slots)
  }

  private static func publicPart(
    format: UInt32, leastReader: UInt32, vault: VaultSalt, epoch: UInt64, slots: [SealedSlot]
  ) -> [UInt8] {
    ByteWriter.bytes(fixedBytes + slots.reduce(0) { $0 + $1.encodedCount }) { out in
      out.write(magic)
      out.write(format)
      out.write(leastReader)
      out.write(vault)
      out.write(epoch)
      out.write(UInt16(truncatingIfNeeded: slots.count))
      for slot in slots { slot.write(to: &out) }
    }
  }

  package func encoded() -> [UInt8] {
    let publicPart = publicPart
    let all = ByteWriter.bytes(publicPart.count + 4 + body.bytes.count) { out in
      out.write(publicPart)
      out.write(prefixed: body.bytes)
    }
    return all + PlainHash.digest(all).bytes
  }

  /// Checks every anchor.
  ///
  /// - Throws: ``FormatError/unauthentic(_:)`` if header and key do not belong together, ``FormatError/contradicted(_:)`` if
  ///   the key does not descend from an anchor's.
  package func openBody(_ keys: borrowing Subkeys, proving anchors: [Anchor]) throws(FormatError) -> HeaderBody {
    let (vault, own) = (keys.vault, keys.epochMark)
    return try HeaderBody(opening: self, keys: keys) { (lineage) throws(FormatError) in
      try lineage.check(anchors, vault: vault, own: own)
    }
  }

  package func refusal(
    _ keys: borrowing Subkeys, by anchors: [Anchor], at place: String
  ) throws(StoreError) -> Anchor.Refusal? {
    do throws(FormatError) {
      _ = try openBody(keys, proving: anchors)
      return nil
    } catch .contradicted(let contradiction) {
      return contradiction.refusal
    } catch {
      throw error.storeError(place: place)
    }
  }

  /// Lends the next header's list of earlier epochs.
  ///
  /// - Parameter isLast: whether this header's epoch ends; the next list then contains it.
  package func withNextLineage<Result: ~Copyable>(
    _ keys: borrowing Subkeys, isLast: Bool, _ body: (Lineage.Next) throws(FormatError) -> Result
  ) throws(FormatError) -> Result {
    var result: Result?
    let epoch = epoch
    try keys.withEpochSecret { (secret) throws(FormatError) in
      _ = try HeaderBody(opening: self, keys: keys) { (lineage) throws(FormatError) in
        result = try body(Lineage.Next(lineage, epoch: epoch, secret: isLast ? secret : nil))
      }
    }
    guard let made = result.take() else { throw .damaged("header's sealed part", "it lists no epochs") }
    return made
  }
}

extension VaultHeader {
  package init(decoding bytes: UnsafeRawBufferPointer) throws(FormatError) { self = try Self.decode(bytes).header }

  /// Also returns the digest of all bytes, to which a state is bound.
  package static func decode(_ bytes: UnsafeRawBufferPointer) throws(FormatError) -> (header: VaultHeader, digest: Digest32) {
    let part = "header"
    guard bytes.count <= largest else { throw .damaged(part, "it has more than \(largest) bytes") }
    guard bytes.count > fixedBytes + 32 else { throw .damaged(part, "it has only \(bytes.count) bytes") }
    let content = bytes.part(0..<bytes.count - 32)
    guard content.starts(with: UnsafeRawBufferPointer(start: magic.utf8Start, count: 8)) else {
      throw .damaged(part, "it does not begin as a vault's header does")
    }
    let digests = PlainHash.digests(bytes, first: content.count)
    guard digests.first == Digest32(bytes.part(bytes.count - 32..<bytes.count)) else {
      throw .damaged(part, "its checksum does not fit")
    }
    let header = try FormatError.reading(content, of: part) { (reader) throws(FormatError) in try Self(from: &reader) }
    return (header, digests.all)
  }

  package init(decoding bytes: [UInt8]) throws(FormatError) {
    self = try bytes.span.bytes.withUnsafeBytes { (bytes) throws(FormatError) in try VaultHeader(decoding: bytes) }
  }

  private init(from reader: inout ByteReader) throws(FormatError) {
    _ = try reader.take(8)
    let format: UInt32 = try reader.number()
    let leastReader: UInt32 = try reader.number()
    guard leastReader <= VaultFormat.version else { throw .newer(found: Int(leastReader)) }
    guard leastReader >= 1, leastReader <= format else {
      throw reader.damaged("version \(format) cannot ask for a reader of version \(leastReader)")
    }
    let vault: VaultSalt = try reader.block16()
    let epoch = try reader.counter("epoch", atLeast: 1)
    let count = Int(try reader.number(UInt16.self))
    guard Self.slotCounts.contains(count) else { throw reader.damaged("it has \(count) slots") }
    var slots: [SealedSlot] = []
    for _ in 0..<count {
      let slot = try SealedSlot(from: &reader)
      if let last = slots.last, last.id >= slot.id { throw reader.damaged("its slots are not in order") }
      slots.append(slot)
    }
    try Self.check(slots, &reader)
    let body = CommittedBox(bytes: [UInt8](try reader.prefixed(limit: Self.largest, "sealed part")))
    self.init(format: format, leastReader: leastReader, vault: vault, epoch: epoch, slots: slots, body: body)
  }

  private static func check(_ slots: [SealedSlot], _ reader: inout ByteReader) throws(FormatError) {
    let owned = slots.count { $0.frame.kind.isOwned }
    guard owned <= mostOwned, slots.count - owned <= mostOthers else {
      throw reader.damaged("it has \(slots.count) slots, \(owned) of them for passphrases, key files and codes")
    }
    guard Set(slots.map(\.frame.publicKey)).count == slots.count else { throw reader.damaged("two of its slots have one key") }
  }
}
