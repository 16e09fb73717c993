internal import CCofferSodium
internal import CofferMemory

/// The format's F: BLAKE2b with key, salt and personalization, fed piece by piece.
///
/// Source: RFC 7693 and the BLAKE2 parameter block; libsodium `crypto_generichash_blake2b_init_salt_personal`.
struct KeyedHash: ~Copyable {
  private let state: OpaquePointer

  /// Writes F(key, label, salt, the input of `feed`, out.count) to `out`, and wipes the working state, which held the key.
  ///
  /// - Parameter key: 16 to 64 bytes.
  /// - Parameter out: 16 to 64 bytes.
  @inline(__always)
  static func compute<Role>(
    _ key: UnsafeRawBufferPointer, _ label: Label, salt: Block16<Role>, into out: UnsafeMutableRawBufferPointer,
    _ feed: (borrowing KeyedHash) -> Void
  ) {
    _ = Sodium.ready
    // Size and alignment of libsodium's state, whose packed type is not imported. Literals keep it on the stack.
    withWipedScratch(384, alignment: 64) { scratch in
      let hash = KeyedHash(state: OpaquePointer(scratch.u8))
      hash.begin(key, label, salt: salt, count: out.count)
      feed(hash)
      crypto_generichash_blake2b_final(hash.state, out.u8, out.count)
    }
  }

  /// F with 32 bytes out, as a public digest.
  @inline(__always)
  package static func digest<Role, Out>(
    _ key: UnsafeRawBufferPointer, _ label: Label, salt: Block16<Role>, _ feed: (borrowing KeyedHash) -> Void
  ) -> Block32<Out> {
    Block32(filling: { compute(key, label, salt: salt, into: $0, feed) })
  }

  /// F with 16 bytes out, as a public block.
  @inline(__always)
  static func block<Role, Out>(
    _ key: UnsafeRawBufferPointer, _ label: Label, salt: Block16<Role>, _ feed: (borrowing KeyedHash) -> Void
  ) -> Block16<Out> {
    var block = Block16<Out>.zero
    withUnsafeMutablePointer(to: &block) {
      compute(key, label, salt: salt, into: UnsafeMutableRawBufferPointer(start: $0, count: 16), feed)
    }
    return block
  }

  private func begin<Role>(_ key: UnsafeRawBufferPointer, _ label: Label, salt: Block16<Role>, count: Int) {
    let status = salt.withBytes { salt in
      label.withBytes { label in
        crypto_generichash_blake2b_init_salt_personal(state, key.u8, key.count, count, salt.u8, label.u8)
      }
    }
    // Fails only for lengths outside 16…64, and every caller's lengths are constants of the format.
    precondition(status == 0, "BLAKE2b takes keys and digests of 16 to 64 bytes")
  }
}

extension KeyedHash {
  @inline(__always)
  func update(_ bytes: UnsafeRawBufferPointer) {
    crypto_generichash_blake2b_update(state, bytes.u8, UInt64(bytes.count))
  }

  @inline(__always)
  func update<Number: FixedWidthInteger>(_ number: Number) {
    withUnsafeBytes(of: number.littleEndian) { update($0) }
  }

  @inline(__always)
  func update<Role>(_ block: Block16<Role>) { block.withBytes { update($0) } }

  @inline(__always)
  func update<Role>(_ block: Block32<Role>) { block.withBytes { update($0) } }

  /// lp: the length in four bytes, then the bytes.
  @inline(__always)
  func update(prefixed bytes: UnsafeRawBufferPointer) {
    update(UInt32(truncatingIfNeeded: bytes.count))
    update(bytes)
  }

  @inline(__always)
  func update(prefixed text: String) {
    let utf8 = text.utf8Span
    utf8.span.bytes.withUnsafeBytes { update(prefixed: $0) }
  }
}

/// The format's H: BLAKE2b, 32 bytes out, without key, salt or personalization. It reveals damage, not forgery.
package enum PlainHash {
  package static func digest(_ bytes: UnsafeRawBufferPointer) -> Digest32 {
    Digest32(filling: { write(bytes, into: $0) })
  }

  package static func digest(_ bytes: [UInt8]) -> Digest32 { bytes.span.bytes.withUnsafeBytes { digest($0) } }

  /// The digests of the first `count` of `bytes` and of all, at the cost of one.
  package static func digests(_ bytes: UnsafeRawBufferPointer, first count: Int) -> (first: Digest32, all: Digest32) {
    _ = Sodium.ready
    // Size and alignment of libsodium's state, twice: see ``KeyedHash/compute(_:_:salt:into:_:)``.
    return withUnsafeTemporaryAllocation(byteCount: 768, alignment: 64) { scratch in
      let (state, copy) = (scratch.part(0..<384), scratch.part(384..<768))
      crypto_generichash_blake2b_init(OpaquePointer(state.u8), nil, 0, 32)
      crypto_generichash_blake2b_update(OpaquePointer(state.u8), UnsafeRawBufferPointer(bytes).u8, UInt64(count))
      copy.copyMemory(from: UnsafeRawBufferPointer(state))
      let rest = bytes.part(count..<bytes.count)
      crypto_generichash_blake2b_update(OpaquePointer(copy.u8), rest.u8, UInt64(rest.count))
      return (
        Digest32(filling: { crypto_generichash_blake2b_final(OpaquePointer(state.u8), $0.u8, 32) }),
        Digest32(filling: { crypto_generichash_blake2b_final(OpaquePointer(copy.u8), $0.u8, 32) })
      )
    }
  }

  /// The digest of secret bytes, which is secret too.
  static func secretDigest(_ bytes: UnsafeRawBufferPointer) throws(FormatError) -> SecretBytes {
    try SecretBytes(count: 32, memory: FormatError.memory) { (out) throws(FormatError) in write(bytes, into: out) }
  }

  private static func write(_ bytes: UnsafeRawBufferPointer, into out: UnsafeMutableRawBufferPointer) {
    _ = Sodium.ready
    crypto_generichash_blake2b(out.u8, out.count, bytes.u8, UInt64(bytes.count), nil, 0)
  }
}

/// The purpose of a keyed hash: BLAKE2b's 16-byte personalization, the text padded with zeros.
///
/// Every use of a key has its own label, so no output of one use can be an output of another.
package struct Label: Sendable {
  private let words: (UInt64, UInt64)

  package init(_ text: StaticString) {
    precondition(text.utf8CodeUnitCount <= 16, "a label has 16 bytes at most")
    var words: (UInt64, UInt64) = (0, 0)
    withUnsafeMutableBytes(of: &words) {
      $0.copyMemory(from: UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }
    self.words = words
  }

  /// Nil unless there are 16 bytes. For test vectors.
  package init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count == 16 else { return nil }
    words = (bytes.loadUnaligned(as: UInt64.self), bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
  }

  @inline(__always)
  func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result { withUnsafeBytes(of: words, body) }
}

extension Label {
  static let index = Label("PV1 index")
  static let recordID = Label("PV1 rid")
  static let record = Label("PV1 record")
  static let bucket = Label("PV1 bucket")
  static let mid = Label("PV1 mid")
  static let root = Label("PV1 root")
  static let log = Label("PV1 log")
  static let logHead = Label("PV1 loghead")
  static let epochSecret = Label("PV1 key lin")
  static let lineage = Label("PV1 lineage")
  static let sealMix = Label("PV1 sealmix")
  static let passphraseAndKeyFile = Label("PVault1 2skd")
  static let keyFile = Label("PVault1 keyfile")
  static let recoveryCode = Label("PVault1 recovery")
}
