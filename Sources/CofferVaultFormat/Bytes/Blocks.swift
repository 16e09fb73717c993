internal import CCofferSodium
internal import CofferMemory
package import FoundationEssentials

/// 16 public bytes: an id, an index or a salt. `Role` keeps the kinds apart.
///
/// Two inline words, not an array: a vault compares and hashes a hundred thousand of these on its hot paths. The words hold
/// the bytes in memory order, so they can be lent without a copy.
package struct Block16<Role>: Hashable, Sendable {
  private let first: UInt64
  private let second: UInt64

  package static var zero: Self { Self(first: 0, second: 0) }

  package static func random() -> Self {
    _ = Sodium.ready
    var words: (UInt64, UInt64) = (0, 0)
    randombytes_buf(&words, 16)
    return Self(first: words.0, second: words.1)
  }

  private init(first: UInt64, second: UInt64) {
    self.first = first
    self.second = second
  }

  /// The first halves of two.
  package init(halves one: Self, _ other: Self) { self.init(first: one.first, second: other.first) }

  package func hasSameHalf(as other: Self) -> Bool { first == other.first }

  @inline(__always)
  package init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count == 16 else { return nil }
    first = bytes.loadUnaligned(as: UInt64.self)
    second = bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
  }

  package init?(_ bytes: [UInt8]) {
    guard let block = bytes.span.bytes.withUnsafeBytes({ Self($0) }) else { return nil }
    self = block
  }

  /// The same bytes in another role: a slot's id is also its salt.
  @inline(__always)
  func cast<Other>(to role: Block16<Other>.Type = Block16<Other>.self) -> Block16<Other> {
    Block16<Other>(first: first, second: second)
  }

  @inline(__always)
  package func withBytes<Result: ~Copyable, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try withUnsafePointer(to: self) { (here) throws(Failure) in
      try body(UnsafeRawBufferPointer(start: here, count: 16))
    }
  }

  package var bytes: [UInt8] { withBytes { [UInt8]($0) } }

  /// The first eight bytes as a number that orders like the bytes.
  @inline(__always)
  fileprivate var leading: UInt64 { UInt64(bigEndian: first) }

  @inline(__always)
  fileprivate var trailing: UInt64 { UInt64(bigEndian: second) }
}

extension Block16: Comparable {
  @inline(__always)
  package static func < (left: Self, right: Self) -> Bool {
    left.first == right.first ? left.trailing < right.trailing : left.leading < right.leading
  }
}

extension Block16: CustomStringConvertible {
  package var description: String { Hex.text(bytes) }
}

package enum VaultRole {}
package enum SlotRole {}
package enum SlotSaltRole {}
package enum RecordIndexRole {}
package enum RecordIDRole {}
package enum CommitRole {}
package enum ReplicaRole {}
enum FreshRole {}
package enum ItemRole {}

/// A vault's id, and the salt of everything derived from its key.
package typealias VaultSalt = Block16<VaultRole>
/// A slot's id, and the salt of its boxes.
package typealias SlotID = Block16<SlotRole>
/// The salt of a slot's passphrase or key.
package typealias SlotSalt = Block16<SlotSaltRole>
/// A record's place: a keyed hash of its names.
package typealias RecordIndex = Block16<RecordIndexRole>
/// A record's content; changes with every write.
package typealias RecordID = Block16<RecordIDRole>
/// Identifies a record across its contents, names and vaults.
package typealias ItemID = Block16<ItemRole>
/// Identifies a commit.
package typealias CommitID = Block16<CommitRole>
/// Identifies a pin: a machine and user that watch a vault.
package typealias ReplicaID = Block16<ReplicaRole>
/// Random bytes used once, as a salt.
typealias FreshSalt = Block16<FreshRole>

extension Block16 where Role == RecordIndexRole {
  /// The first ten bits: the record's bucket in its table.
  @inline(__always)
  var leadingBits: Int { Int(leading >> 54) }

  /// The same with the first ten bits of `other`.
  func inBucket(of other: Self) -> Self {
    let mask: UInt64 = 0x3FF << 54
    return Self(first: UInt64(bigEndian: (leading & ~mask) | (other.leading & mask)), second: second)
  }
}

extension Block16 where Role == ItemRole {
  package var uuid: UUID { withBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) } }
}

/// 32 public bytes: a digest or a public key, inline like ``Block16``.
package struct Block32<Role>: Hashable, Sendable {
  private let words: Words

  private struct Words: Hashable, Sendable { let a, b, c, d: UInt64 }

  package static var zero: Self { Self(Words(a: 0, b: 0, c: 0, d: 0)) }

  private init(_ words: Words) { self.words = words }

  @inline(__always)
  package init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count == 32 else { return nil }
    words = Words(
      a: bytes.loadUnaligned(as: UInt64.self),
      b: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self),
      c: bytes.loadUnaligned(fromByteOffset: 16, as: UInt64.self),
      d: bytes.loadUnaligned(fromByteOffset: 24, as: UInt64.self))
  }

  package init?(_ bytes: [UInt8]) {
    guard let block = bytes.span.bytes.withUnsafeBytes({ Self($0) }) else { return nil }
    self = block
  }

  @inline(__always)
  package init(filling fill: (UnsafeMutableRawBufferPointer) -> Void) {
    self = .zero
    withUnsafeMutablePointer(to: &self) { fill(UnsafeMutableRawBufferPointer(start: $0, count: 32)) }
  }

  @inline(__always)
  package func withBytes<Result: ~Copyable, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try withUnsafePointer(to: self) { (here) throws(Failure) in
      try body(UnsafeRawBufferPointer(start: here, count: 32))
    }
  }

  package var bytes: [UInt8] { withBytes { [UInt8]($0) } }
}

extension Block32: CustomStringConvertible {
  package var description: String { Hex.text(bytes) }
}

package enum DigestRole {}
package enum PublicKeyRole {}
package enum KeyMarkRole {}

/// A BLAKE2b digest of 32 bytes: of a bucket, a header or the log.
package typealias Digest32 = Block32<DigestRole>
/// An X25519 public key.
package typealias PublicKey32 = Block32<PublicKeyRole>

/// The mark of a vault's key of one epoch, derived from the key without revealing it.
package typealias KeyMark = Block32<KeyMarkRole>

/// The 24-byte nonce of XChaCha20-Poly1305: long enough to be random without counting messages.
package struct Nonce24: Equatable, Sendable {
  private let a, b, c: UInt64

  /// For a key that seals only one plaintext.
  static let zero = Nonce24(a: 0, b: 0, c: 0)

  package static func random() -> Nonce24 {
    _ = Sodium.ready
    var words: (UInt64, UInt64, UInt64) = (0, 0, 0)
    randombytes_buf(&words, 24)
    return Nonce24(a: words.0, b: words.1, c: words.2)
  }

  private init(a: UInt64, b: UInt64, c: UInt64) {
    self.a = a
    self.b = b
    self.c = c
  }

  package init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count == 24 else { return nil }
    a = bytes.loadUnaligned(as: UInt64.self)
    b = bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
    c = bytes.loadUnaligned(fromByteOffset: 16, as: UInt64.self)
  }

  @inline(__always)
  package func withBytes<Result: ~Copyable, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try withUnsafePointer(to: self) { (here) throws(Failure) in
      try body(UnsafeRawBufferPointer(start: here, count: 24))
    }
  }
}
