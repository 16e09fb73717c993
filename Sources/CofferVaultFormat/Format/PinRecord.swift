/// One machine's memory of a vault, outside of it: 160 bytes. A pin file holds two, written alternately.
package struct PinRecord: Hashable, Sendable {
  package static let count = 160
  /// The offsets of the two records in the file, on separate pages, so a torn write harms only one.
  package static let offsets = [0, 4096]
  private static let magic: StaticString = "PVPIN1\0\0"
  private static let part = "pin"
  private static let zeroBytes = 8
  private static let checkedBytes = 144

  package struct Mark: Hashable, Sendable {
    package let generation: UInt64
    package let commit: CommitID

    package init(generation: UInt64, commit: CommitID) {
      (self.generation, self.commit) = (generation, commit)
    }

    /// Before the first commit.
    package static let never = Mark(generation: 0, commit: .zero)
  }

  package let vault: VaultSalt
  package let replica: ReplicaID
  package var key: EpochMark
  /// The newest commit seen.
  package var seen: Mark
  /// The newest commit made here.
  package var own: Mark
  /// For a mirror's pin, when the mirror was last known to hold the vault's newest commit, in milliseconds since 1970; else
  /// 0.
  package var refreshed: UInt64

  package func encoded() -> [UInt8] {
    let content = ByteWriter.bytes(Self.checkedBytes) { out in
      out.write(Self.magic)
      out.write(vault)
      out.write(replica)
      out.write(key.epoch)
      out.write(key.mark)
      for mark in [seen, own] {
        out.write(mark.generation)
        out.write(mark.commit)
      }
      out.write(refreshed)
      out.write([UInt8](repeating: 0, count: Self.zeroBytes))
    }
    return content + PlainHash.digest(content).bytes.prefix(16)
  }

  package init(vault: VaultSalt, replica: ReplicaID, key: EpochMark, seen: Mark, own: Mark, refreshed: UInt64 = 0) {
    self.vault = vault
    self.replica = replica
    self.key = key
    self.seen = seen
    self.own = own
    self.refreshed = refreshed
  }

  /// - Parameter isOfMirror: whether it belongs to a mirror's pin. Only those have a time.
  package init(decoding bytes: UnsafeRawBufferPointer, isOfMirror: Bool = false) throws(FormatError) {
    guard bytes.count == Self.count else { throw .damaged(Self.part, "a record has \(bytes.count) bytes") }
    let content = bytes.part(0..<Self.checkedBytes)
    let checksum = PlainHash.digest(content).withBytes { FreshSalt($0.part(0..<16)) }
    guard checksum == FreshSalt(bytes.part(Self.checkedBytes..<Self.count)) else {
      throw .damaged(Self.part, "a record's checksum does not fit")
    }
    self = try FormatError.reading(content, of: Self.part) { (reader) throws(FormatError) in try PinRecord(from: &reader) }
    guard (refreshed > 0) == isOfMirror else {
      throw .damaged(Self.part, isOfMirror ? "it is not a mirror's" : "its spare bytes are not zeros")
    }
  }

  private init(from reader: inout ByteReader) throws(FormatError) {
    let magic = try reader.take(8)
    guard magic.elementsEqual(UnsafeRawBufferPointer(start: Self.magic.utf8Start, count: 8)) else {
      throw reader.damaged("a record does not begin as a pin does")
    }
    vault = try reader.block16()
    replica = try reader.block16()
    key = EpochMark(epoch: try reader.counter("epoch", atLeast: 1), mark: try reader.block32())
    seen = Mark(generation: try reader.counter("generation", atLeast: 1), commit: try reader.block16())
    own = Mark(generation: try reader.counter("generation"), commit: try reader.block16())
    guard own.generation > 0 || own == .never else { throw reader.damaged("it names a commit before the first") }
    refreshed = try reader.counter("time of a refresh")
    guard try reader.take(Self.zeroBytes).allSatisfy({ $0 == 0 }) else { throw reader.damaged("its spare bytes are not zeros") }
  }
}
