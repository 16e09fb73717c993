package import CofferPlatform
package import CofferVaultFormat
internal import CofferVaultRows

/// A head: a vault's header and state of one put, and the names of the groups with its rows.
///
/// Without the keys only its form is checked. A remote can hold any bytes: their cost is bounded before they are read.
package struct Head: Hashable, Sendable {
  /// A header of 1 MiB, the largest state, and 1 024 groups take 1 102 KiB.
  package static let largest = 2 << 20
  package static let mostGroups = Group.pairs
  private static let magic: StaticString = "COFFERH1"
  private static let part = "head"
  private static let entryBytes = 2 + 32 + 4

  /// A group that is not empty.
  package struct Entry: Hashable, Sendable {
    /// Less than the head's `groupCount`.
    package let number: Int
    package let hash: Digest32
    package let byteCount: Int
  }

  /// A power of two, 1 to ``mostGroups``: each group has as many bucket pairs as the others.
  package let groupCount: Int
  /// The rows `header` and `state` of format 1.
  package let header: [UInt8], state: [UInt8]
  /// Ascending by number.
  package let groups: [Entry]
  /// The digest of all bytes, and the generation in front of the state, which its seal protects.
  package let name: HeadName

  package init(groupCount: Int, header: [UInt8], state: [UInt8], groups: [Entry]) {
    precondition(groupCount.nonzeroBitCount == 1 && groupCount <= Self.mostGroups && state.count >= 8)
    (self.groupCount, self.header, self.state, self.groups) = (groupCount, header, state, groups)
    let bytes = Self.bytes(groupCount, header, state, groups)
    name = HeadName(generation: Self.generation(of: state), hash: PlainHash.digest(bytes))
  }

  /// - Parameters:
  ///   - expected: the name under which it lay; nil where only its groups are asked for.
  ///   - remote: the address, for errors.
  /// - Throws: ``/CofferPlatform/StoreError/Kind/damaged``.
  package init(_ bytes: [UInt8], named expected: HeadName?, at remote: String) throws(StoreError) {
    do throws(FormatError) {
      self = try bytes.span.bytes.withUnsafeBytes { (bytes) throws(FormatError) in try Head(decoding: bytes) }
      guard expected ?? name == name else { throw .damaged(Self.part, "it has other bytes than its name says") }
    } catch { throw error.ofPiece(at: remote) }
  }

  /// - Throws: ``FormatError/damaged(_:_:)``.
  package init(decoding bytes: UnsafeRawBufferPointer) throws(FormatError) {
    guard bytes.count <= Self.largest else { throw .damaged(Self.part, "it has more than \(Self.largest) bytes") }
    let (groupCount, header, state, groups) = try FormatError.reading(bytes, of: Self.part) { (reader) throws(FormatError) in
      try reader.expect(Self.magic)
      let count = Int(try reader.number(UInt16.self))
      guard count.nonzeroBitCount == 1, count <= Self.mostGroups else { throw reader.damaged("it has \(count) groups") }
      let header = [UInt8](try reader.prefixed(limit: RowLimits.headerBytes.upperBound, "header"))
      let state = [UInt8](try reader.prefixed(limit: RowLimits.stateBytes.upperBound, "state"))
      guard !header.isEmpty, state.count > 8, (1...FileCounter.most).contains(Self.generation(of: state)) else {
        throw reader.damaged("its header or its state is none")
      }
      return (count, header, state, try Self.groups(from: &reader, below: count))
    }
    self.init(groupCount: groupCount, header: header, state: state, groups: groups)
  }

  private static func groups(from reader: inout ByteReader, below count: Int) throws(FormatError) -> [Entry] {
    guard reader.remaining <= count * entryBytes else { throw reader.damaged("it lists more groups than it has") }
    var groups: [Entry] = []
    while reader.remaining > 0 {
      let number = Int(try reader.number(UInt16.self))
      guard number > groups.last?.number ?? -1, number < count else { throw reader.damaged("its groups are not in order") }
      let hash = try reader.block32(Digest32.self)
      let bytes = Int(try reader.number(UInt32.self))
      guard (1...Group.largest).contains(bytes) else { throw reader.damaged("a group of it has \(bytes) bytes") }
      groups.append(Entry(number: number, hash: hash, byteCount: bytes))
    }
    return groups
  }

  package func encoded() -> [UInt8] { Self.bytes(groupCount, header, state, groups) }

  private static func bytes(_ count: Int, _ header: [UInt8], _ state: [UInt8], _ groups: [Entry]) -> [UInt8] {
    ByteWriter.bytes(8 + 2 + 4 + header.count + 4 + state.count + groups.count * entryBytes) { out in
      out.write(magic)
      out.write(UInt16(truncatingIfNeeded: count))
      out.write(prefixed: header)
      out.write(prefixed: state)
      for group in groups {
        out.write(UInt16(truncatingIfNeeded: group.number))
        out.write(group.hash)
        out.write(UInt32(truncatingIfNeeded: group.byteCount))
      }
    }
  }

  private static func generation(of state: [UInt8]) -> UInt64 {
    state.span.bytes.withUnsafeBytes { UInt64(littleEndian: $0.loadUnaligned(as: UInt64.self)) }
  }

  /// The bucket pairs of group `number`.
  package func pairs(of number: Int) -> Range<Int> { Self.pairs(of: number, of: groupCount) }

  static func pairs(of number: Int, of count: Int) -> Range<Int> {
    let width = Group.pairs / count
    return number * width..<(number + 1) * width
  }

  /// The number of groups for so many bytes of rows: the least one with 32 KiB in a group on average, as a change of one record
  /// puts one group.
  package static func groupCount(for bytes: Int) -> Int {
    var count = 1
    while count < mostGroups, bytes > count << 15 { count *= 2 }
    return count
  }
}

extension FormatError {
  /// The error of a file at a remote.
  func ofPiece(at remote: String) -> StoreError {
    guard case .damaged(let part, let why) = self else { return storeError(place: remote) }
    return StoreError(
      .damaged, "a \(part) there is damaged: \(why)", place: remote,
      cure: "a file there was cut or changed: put it back, or begin the remote anew from a vault that has all items")
  }
}
